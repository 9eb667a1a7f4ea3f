"""What the API and the pages read: answers from caches and the ledger.

Must not know: how anything is decided or done; nothing here changes anything.
"""

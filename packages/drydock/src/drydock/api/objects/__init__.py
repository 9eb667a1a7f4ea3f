"""What the objects of all kinds share: metadata, names, conditions.

Must not know: requests, the store, or any kind by name.
"""

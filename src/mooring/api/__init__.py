"""HTTP: routes, authentication, read models, the event stream.

Must not know: how decisions are made; it reads control's read side and the ledger.
"""

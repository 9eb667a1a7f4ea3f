"""Server-side printing: the tables of `kubectl get`, with their columns, cells and ages.

Must not know: requests, the store, or how a table is sent.
"""

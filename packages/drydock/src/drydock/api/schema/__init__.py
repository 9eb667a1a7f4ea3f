"""The shape of objects and what follows from it: validation, defaults, pruning, constraints of custom kinds.

Must not know: requests, the store, or any kind by name.
"""

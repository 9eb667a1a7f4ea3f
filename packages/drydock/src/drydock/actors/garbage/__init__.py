"""Garbage collection: dependents without owners, and pods without a node or a reader.

Must not know: the controllers that own objects.
"""

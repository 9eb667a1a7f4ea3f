"""Decisions about submissions: which gates hold, which step comes next, which Jobs are leftovers.

Must not know: how Jobs are made, read or deleted.
"""

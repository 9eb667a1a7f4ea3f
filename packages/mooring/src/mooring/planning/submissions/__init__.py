"""Decisions about submissions: which gates pass, which step is next, which Jobs are leftovers.

Must not know: how Jobs are made, read or deleted.
"""

"""The sandbox's API server: storage, verbs, shapes, patches, access.

Must not know: the actors; they are ordinary clients.
"""

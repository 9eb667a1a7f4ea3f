"""Custom resource definitions and their objects: validation of both, and the life of a definition.

Must not know: HTTP, and how rules, schemas and columns are evaluated.
"""

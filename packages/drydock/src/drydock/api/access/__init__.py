"""Authentication and authorization: identities, service account tokens, RBAC, and reviews of both.

Must not know: what a verb does once it is allowed.
"""

"""The ledger in PostgreSQL: claims, audit, invariants and replicas; and the embedded server.

Must not know: Kubernetes; only the model. Time is always a parameter.
"""

"""PostgreSQL: who holds what and what was decided; the embedded server.

Must not know: Kubernetes; only the model. Time is always a parameter.
"""

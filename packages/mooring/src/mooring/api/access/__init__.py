"""Who asks, and what they may do: authentication, and authorization by the cluster's own RBAC.

Must not know: what the routes do. Every route declares what it needs (`acts.py`); `guard.py` checks it.
"""

"""The Deployment and ReplicaSet controllers, and the pods they own.

Must not know: other controllers, or nodes.
"""

"""The real control plane: find or build its programs, start and stop it.

Must not know: the sandbox API; both are just a kubeconfig to their users.
"""

"""The real control plane: find or build its programs, start and stop it.

Must not know: the embedded API; both are a kubeconfig to their users.
"""

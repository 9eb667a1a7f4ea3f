"""A kubelet: runs the pods bound to its nodes through a runtime and tells the API what became of them.

Must not know: which API server it talks to, nor how its runtime runs a container.
"""

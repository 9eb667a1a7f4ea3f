"""Container runtimes of the kubelets: local processes, or scripts in virtual time.

Must not know: the Kubernetes API, or nodes; a runtime runs what a container's spec says.
"""

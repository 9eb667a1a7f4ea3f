"""Running containers for the kubelet: as local processes, or as scripts in virtual time.

Must not know: the Kubernetes API; a runtime is told what to run and answers how it went.
"""

"""Local processes that never outlive whoever started them: the containers and the real control plane's programs.

Must not know: Kubernetes; a process here is a command, an environment, mounts and a log.
"""

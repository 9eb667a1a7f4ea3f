"""Local processes that never outlive the process that started them.

Must not know: Kubernetes; a process here is a command, an environment, mounts and a log.
"""

"""Kubelets: they run the pods bound to their node and report on them.

Must not know: the scheduler, controllers, or which runtime runs a container.
"""

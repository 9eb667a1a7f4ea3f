"""Virtual time: an event loop that jumps to the next timer, its trace, and its guard against real waits.

Must not know: Kubernetes.
"""

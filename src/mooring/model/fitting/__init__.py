"""What Kubernetes means by "this pod may run on that node": read from plain objects, compared, counted.

Shared by the sandbox's scheduler and by the explanations that people get. No I/O, no clock.
"""

"""What Kubernetes means by "this pod may run on that node": read from plain objects, compared, counted.

Must not know: I/O, the clock, or who asks: a scheduler, or an explanation for people.
"""

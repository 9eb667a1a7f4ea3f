"""The scheduler: its queue, feasibility, scores, preemption and bindings.

Must not know: controllers, or how a kubelet runs a pod.
"""

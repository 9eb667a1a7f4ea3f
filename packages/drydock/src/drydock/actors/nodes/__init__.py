"""The node lifecycle: heartbeats, conditions, taints, and eviction by taint.

Must not know: how a kubelet runs, or who adds and removes nodes.
"""

"""Nodes, and what Karpenter does to them: the ground that every controller stands on.

Must not know: any kind of Mooring's.
"""

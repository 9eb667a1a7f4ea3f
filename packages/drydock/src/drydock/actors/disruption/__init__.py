"""Disruption of nodes on purpose: drains, and nodes replaced, stopped, lost or flapping.

Must not know: the controllers that react to it.
"""

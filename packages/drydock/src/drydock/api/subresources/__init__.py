"""Subresources with a path of their own: scale, eviction, binding, log, token.

Must not know: HTTP, or the nodes beyond the address of their kubelet.
"""

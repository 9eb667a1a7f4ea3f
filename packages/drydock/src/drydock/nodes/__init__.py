"""Real nodes on one machine: kubelet, containerd and containers, each node in namespaces and cgroups of its own.

Must not know: the embedded API and drydock's own kubelet.
"""

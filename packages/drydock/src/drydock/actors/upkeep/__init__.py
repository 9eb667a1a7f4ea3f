"""Small controllers of a cluster: budgets, endpoints, namespaces, default service accounts.

Must not know: other controllers, or how a kubelet runs a pod.
"""

"""Built-in admission: namespaces, service accounts, priorities, default tolerations and quotas.

Must not know: HTTP, or which verb leads here.
"""

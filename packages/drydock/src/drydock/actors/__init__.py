"""What moves in a cluster: scheduler, controllers, kubelet, drift, each an ordinary API client.

Must not know: the inside of the API server.
"""

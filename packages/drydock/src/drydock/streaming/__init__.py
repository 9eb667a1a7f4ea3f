"""Streams over one upgraded HTTP connection, for exec and port-forward: WebSocket channels and SPDY/3.1.

Must not know: pods, processes or the API's objects. It moves bytes between a client and what it is given.
"""

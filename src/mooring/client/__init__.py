"""The SDK: claim a worker as a context manager; the worker's side of dispatch.

Must not know: the server's inside; it speaks HTTP.
"""

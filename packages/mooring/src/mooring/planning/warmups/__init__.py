"""Decisions about Warmups: on which nodes shards go, which Jobs are stale, when to stop trying.

Must not know: clocks, I/O.
"""

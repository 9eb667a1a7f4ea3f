"""The program of a worker: DuckDB behind the PostgreSQL protocol, for one session at a time.

Must not know: how the gateway claims workers.
"""

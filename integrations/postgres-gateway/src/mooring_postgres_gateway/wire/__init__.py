"""The PostgreSQL wire protocol, version 3: frames and message bodies as values.

Must not know: sockets, clocks, DuckDB, Mooring.
"""

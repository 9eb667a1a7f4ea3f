"""Serves the PostgreSQL wire protocol from the query workers of a Mooring pool."""

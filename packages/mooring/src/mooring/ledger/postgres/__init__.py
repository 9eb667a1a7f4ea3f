"""The ledger on PostgreSQL."""

from mooring.ledger.postgres.ledger import PostgresLedger

__all__ = ["PostgresLedger"]

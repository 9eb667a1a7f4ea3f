"""The ledger in memory, for virtual time only: no sockets, no threads, the same answers as PostgreSQL.

`MemoryStore` is the database and outlives the `MemoryLedger`s that processes open on it.
"""

from mooring.ledger.twin.ledger import MemoryLedger
from mooring.ledger.twin.store import MemoryStore

__all__ = ["MemoryLedger", "MemoryStore"]

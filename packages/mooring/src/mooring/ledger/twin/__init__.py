"""The ledger in memory, only for virtual time: no sockets, no threads, the same results as PostgreSQL.

`MemoryStore` is the database. It outlives the `MemoryLedger` instances that processes open on it.
"""

from mooring.ledger.twin.ledger import MemoryLedger
from mooring.ledger.twin.store import MemoryStore

__all__ = ["MemoryLedger", "MemoryStore"]

"""An embedded PostgreSQL server with its data in the state folder: started, monitored, stopped.

Must not know: what the ledger stores in it.
"""

from mooring.ledger.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer"]

"""A real PostgreSQL server of our own, with its data under the state folder: started, watched, stopped.

Must not know: what the ledger keeps in it.
"""

from mooring.ledger.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer"]

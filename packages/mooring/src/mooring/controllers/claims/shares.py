"""Which replica tries which worker first, so that replicas rarely choose the same one: rendezvous hashing.

Every replica computes the same order of all replicas for a worker, from their names alone. The first of the order has
the worker in its share. When a replica comes or goes, only its own share changes hands.
"""

from collections.abc import Iterable
from hashlib import blake2b


class Shares:
    """The place of one replica in the order of each worker."""

    def __init__(self, replica_id: str) -> None:
        self._me = replica_id
        self._others: frozenset[str] = frozenset()
        self._ranks: dict[str, int] = {}  # by the worker's uid

    def rank(self, uid: str) -> int:
        """How many replicas come before this one; 0: the worker is in its share."""
        rank = self._ranks.get(uid)
        if rank is None:
            mine = _weigh(self._me, uid)
            rank = self._ranks[uid] = sum(_weigh(other, uid) > mine for other in self._others)
        return rank

    def change(self, replicas: Iterable[str]) -> bool:
        """Share with these replicas from now on; False if they are the same as before."""
        others = frozenset(replicas) - {self._me}
        if others == self._others:
            return False
        self._others = others
        self._ranks.clear()
        return True

    def forget(self, uid: str) -> None:
        """The worker is gone."""
        self._ranks.pop(uid, None)


def _weigh(replica_id: str, uid: str) -> bytes:
    return blake2b(f"{replica_id}/{uid}".encode(), digest_size=8).digest()

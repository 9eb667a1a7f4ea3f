"""Replicas in memory."""

from datetime import datetime

from msgspec.structs import replace

from mooring.ledger.records import Channel, Replica
from mooring.ledger.twin.session import Session


class MemoryReplicas:
    """Implements `Replicas`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def register(self, replica_id: str, *, address: str, version: str, now: datetime) -> Replica:
        store = await self._session.turn()
        before = store.replicas.get(replica_id)
        replica = store.replicas[replica_id] = Replica(
            id=replica_id, epoch=store.draw_replica_epoch(), address=address, version=version, started_at=now,
            heartbeat_at=now, beats=before.beats + 1 if before else 1, left_at=None,
        )  # fmt: skip
        return replica

    async def heartbeat(self, replica_id: str, epoch: int, *, now: datetime) -> bool:
        store = await self._session.turn()
        replica = store.replicas.get(replica_id)
        if replica is None or replica.epoch != epoch or replica.left_at:
            return False
        store.replicas[replica_id] = replace(
            replica, heartbeat_at=max(replica.heartbeat_at, now), beats=replica.beats + 1
        )
        return True

    async def leave(self, replica_id: str, epoch: int, *, now: datetime) -> bool:
        store = await self._session.turn()
        replica = store.replicas.get(replica_id)
        if replica is None or replica.epoch != epoch:
            return False
        store.replicas[replica_id] = replace(replica, left_at=replica.left_at or now)
        store.notify(Channel.REPLICA, replica_id)
        return True

    async def depose(self, replica_id: str, epoch: int, *, beats: int, now: datetime) -> bool:
        store = await self._session.turn()
        replica = store.replicas.get(replica_id)
        if replica is None or (replica.epoch, replica.beats, replica.left_at) != (epoch, beats, None):
            return False
        store.replicas[replica_id] = replace(replica, left_at=now)
        return True

    async def all(self) -> tuple[Replica, ...]:
        store = await self._session.turn()
        return tuple(store.replicas[replica_id] for replica_id in sorted(store.replicas))

    async def forget(self, *, silent_since: datetime) -> int:
        store = await self._session.turn()
        silent = [replica.id for replica in store.replicas.values() if replica.heartbeat_at < silent_since]
        for replica_id in silent:
            del store.replicas[replica_id]
        return len(silent)

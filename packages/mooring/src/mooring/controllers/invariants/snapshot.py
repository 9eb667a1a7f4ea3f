"""What the decisions about claims and workers look at, frozen."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hawser.resources import PODS
from mooring.controllers.fleet import Fleet
from mooring.controllers.invariants.stamp_checks import StampChecks
from mooring.engine.absence import live_uid
from mooring.engine.context import Context
from mooring.engine.liveness import senders_for
from mooring.ledger.records import LiveClaims
from mooring.model.claim import Claim
from mooring.model.health import WorkerHealth
from mooring.model.worker import Worker
from mooring.planning.invariants.claims import Account, ClaimsSnapshot
from mooring.planning.invariants.leaks import find_suspects


@dataclass(frozen=True, slots=True)
class WorkerSigns:
    """What is known of workers beside the cluster and the ledger."""

    executing: Callable[[Worker], bool | None]  # as the worker says itself; None: not known
    unhealthy: Callable[[], Mapping[str, WorkerHealth]]  # those whose checks failed, by pod uid


class ClaimsSnapshots:
    """Takes them. Heartbeats are remembered only while they can arrive."""

    def __init__(self, context: Context, fleet: Fleet, given: WorkerSigns) -> None:
        self._client = context.client
        self._ledger = context.ledger
        self._clock = context.clock
        self._timeouts = context.timeouts
        self._nodes = context.nodes
        self._fleet = fleet
        self._given = given
        self._stamp_checks = StampChecks(context, fleet)
        self._reach = context.liveness.reach
        self._silence = context.liveness.meter()  # of stamped workers that no live claim holds
        self._heard: dict[str, tuple[datetime | None, float]] = {}  # by claim: its last heartbeat, and when we saw it

    def forget(self) -> None:
        """Heartbeats and signs of life cannot arrive: their absence proves nothing."""
        self._heard.clear()
        self._silence.forget()
        self._stamp_checks.forget()

    async def take(self) -> tuple[ClaimsSnapshot, LiveClaims]:
        """All claims and workers, and the live claims as the ledger gave them."""
        workers = tuple(worker for of_pool in self._fleet.worker_pools.values() for worker in of_pool.values())
        await self._stamp_checks.check(workers)
        live = await self._ledger.claims.live()
        self._listen(live.claims)
        return await self._look(workers, live), live

    def _listen(self, claims: Iterable[Claim]) -> None:
        """Heartbeats carry the clock of the replica that took them. Only that one is new counts, and when we saw it."""
        now, before = self._clock.monotonic(), self._heard
        self._heard = {}
        for claim in claims:
            known = before.get(claim.id)
            self._heard[claim.id] = known if known and known[0] == claim.heartbeat_at else (claim.heartbeat_at, now)

    def _silent_seconds(self) -> dict[str, float]:
        """By claim; none while holders cannot reach this replica."""
        now, reached = self._clock.monotonic(), self._reach.since
        return {} if reached is None else {id_: now - max(at, reached) for id_, (_, at) in self._heard.items()}

    async def _look(self, workers: tuple[Worker, ...], live: LiveClaims) -> ClaimsSnapshot:
        suspects = find_suspects(workers, live.claims)
        rows = {suspect.stamp.claim: await self._row(suspect.stamp.claim) for suspect in suspects if suspect.stamp}
        present = {worker.uid for worker in workers}
        homeless = [claim for claim in live.claims if claim.pod_uid is not None and claim.pod_uid not in present]
        absent = await asyncio.gather(*(self._is_absent(claim) for claim in homeless))
        departed = self._fleet.departed
        return ClaimsSnapshot(
            now=self._clock.now(),
            workers=workers,
            claims=live.claims,
            executing={suspect.uid: self._given.executing(suspect) for suspect in suspects},
            stamped_claims=rows,
            expired={suspect.uid: await self._ledger.claims.expired_on(suspect.uid) for suspect in suspects},
            absent_pods=frozenset(c.pod_uid for c, gone in zip(homeless, absent, strict=True) if gone and c.pod_uid),
            departed_pods={uid: departed[uid] for c in homeless if (uid := c.pod_uid) and uid in departed},
            accounts=await self._accounts(workers),
            timeouts=self._timeouts,
            nodes=self._nodes.by_name,
            unhealthy=self._given.unhealthy(),
            push_pools=frozenset(key for key, pool in self._fleet.pools.items() if pool.spec.dispatch == "Push"),
            worker_silent_seconds=await self._silence.measure({one.uid: senders_for(one) for one in suspects}),
            reclaims={key: pool.spec.effective_reclaim for key, pool in self._fleet.pools.items()},
            silent_seconds=self._silent_seconds(),
        )

    async def _row(self, claim_id: str) -> Claim | None:
        return await self._ledger.claims.get(claim_id) if claim_id else None

    async def _is_absent(self, claim: Claim) -> bool:
        """Only a live 404, or another uid under that name, proves absence."""
        if claim.pod_name is None:
            return False
        found = await live_uid(self._client, PODS, claim.pod_name, claim.namespace)
        return found is not None and found != claim.pod_uid

    async def _accounts(self, workers: Iterable[Worker]) -> tuple[Account, ...]:
        if not self._fleet.accounts:
            return ()
        present = {(worker.namespace, worker.name) for worker in workers}
        accounts = []
        for view in self._fleet.accounts:
            meta = view.metadata
            if (meta.namespace, meta.name) in present or meta.creation_timestamp is None:
                continue
            absent = await live_uid(self._client, PODS, meta.name, meta.namespace) == ""
            accounts.append(Account(meta.namespace, meta.name, meta.uid, meta.creation_timestamp, absent))
        return tuple(accounts)

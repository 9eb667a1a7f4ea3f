"""The rounds: every rule between claims and workers is checked again and again, and healed when it is broken."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import structlog

from mooring.clock import Clock
from mooring.control.absence import live_uid
from mooring.control.fleet import Fleet
from mooring.control.health import HealthChecks
from mooring.control.metrics import RAILS_HELD
from mooring.control.remedies import Remedies
from mooring.control.surroundings import see_cluster_and_ledger
from mooring.control.switches import Switches
from mooring.control.trust import LedgerTrust
from mooring.kube.client import KubeClient
from mooring.kube.resources import PODS
from mooring.ledger.port import Ledger
from mooring.ledger.records import InvariantCheck, LiveClaims
from mooring.model.claim import Claim
from mooring.model.errors import MooringError
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker
from mooring.planning.claims import (
    Account,
    Act,
    ClaimsSnapshot,
    find_suspects,
    plan_account_has_pod,
    plan_claim_alive,
    plan_claim_has_pod,
    plan_claim_progresses,
    plan_stamped_has_claim,
)
from mooring.planning.rails import apply_rails, compute_brakes

log = structlog.get_logger()


class Activity(Protocol):
    """Whether a worker executes something, as it says itself."""

    def executing(self, worker: Worker) -> bool | None:
        """None: not known."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A planner, and how often it is asked."""

    id: str
    plan: Callable[[ClaimsSnapshot], list[Act]]
    period_seconds: float
    confirm_seconds: float


def rules_of(timeouts: Timeouts) -> tuple[Rule, ...]:
    """All of them. Two ticks are told apart though the second may come a little early."""
    check, reap = timeouts.claim_check, timeouts.reap_period
    return (
        Rule("claim-alive", plan_claim_alive, check, check * 0.8),
        Rule("claim-progresses", plan_claim_progresses, check, check * 0.8),
        Rule("claim-has-pod", plan_claim_has_pod, check, check * 0.8),
        Rule("stamped-has-claim", plan_stamped_has_claim, reap, reap * 0.8),
        Rule("account-has-pod", plan_account_has_pod, reap, reap * 0.8),
    )


@dataclass(slots=True)
class _Memory:
    """What is kept between two ticks of a rule; lost with the process, then confirmation starts again."""

    due_at: float = float("-inf")
    sightings: Mapping[str, datetime] = field(default_factory=dict)


class Reaping:
    """All rules, on the replica that leads."""

    def __init__(
        self,
        client: KubeClient,
        ledger: Ledger,
        fleet: Fleet,
        switches: Switches,
        remedies: Remedies,
        activity: Activity,
        health: HealthChecks,
        may_act: Callable[[], bool],
        clock: Clock,
        timeouts: Timeouts,
        trust: LedgerTrust,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._fleet = fleet
        self._switches = switches
        self._remedies = remedies
        self._activity = activity
        self._health = health
        self._may_act = may_act
        self._clock = clock
        self._timeouts = timeouts
        self._rules = rules_of(timeouts)
        self._trust = trust
        self._highest_epoch = 0
        self._heard: dict[str, tuple[datetime | None, float]] = {}  # by claim: its last heartbeat, and when we saw it
        self._memories = {rule.id: _Memory() for rule in self._rules}

    async def run(self) -> None:
        """Until cancelled. A failed read skips the tick; it never counts as absence."""
        shortest = min(rule.period_seconds for rule in self._rules)
        while True:
            if self._may_act():
                try:
                    await self.tick()
                except MooringError as error:
                    self._heard.clear()  # while nobody could hear a heartbeat, its absence says nothing of the holder
                    log.warning("a round was skipped", error=error.message)
            else:
                self._heard.clear()
            await self._clock.sleep(shortest)

    async def tick(self) -> None:
        """One look at the world, for every rule that is due."""
        started = self._clock.monotonic()
        due = [rule for rule in self._rules if started >= self._memories[rule.id].due_at]
        if not due:
            return
        workers = tuple(worker for of_pool in self._fleet.worker_pools.values() for worker in of_pool.values())
        await self._observe_epochs(workers)
        live = await self._ledger.claims.live()
        self._listen(live.claims)
        snapshot = await self._look(workers, live)
        checks = []
        for rule in due:
            self._memories[rule.id].due_at = started + rule.period_seconds
            checks.append(await self._enforce(rule, snapshot, live))
        await self._ledger.invariants.record(checks)

    async def _observe_epochs(self, workers: Iterable[Worker]) -> None:
        """Stamps witness a ledger that went back in time: an epoch it never issued disarms it (faults 40 and 42)."""
        highest = max((worker.stamp.epoch for worker in workers if worker.stamp), default=0)
        if highest > self._highest_epoch:
            await self._ledger.meta.observe_epoch(highest, now=self._clock.now())
            self._highest_epoch = highest

    def _listen(self, claims: Iterable[Claim]) -> None:
        """Heartbeats carry the clock of whoever took them: that one is new counts, and when we saw it."""
        now, before = self._clock.monotonic(), self._heard
        self._heard = {}
        for claim in claims:
            known = before.get(claim.id)
            self._heard[claim.id] = known if known and known[0] == claim.heartbeat_at else (claim.heartbeat_at, now)

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
            executing={suspect.uid: self._activity.executing(suspect) for suspect in suspects},
            stamped_claims=rows,
            absent_pods=frozenset(c.pod_uid for c, gone in zip(homeless, absent, strict=True) if gone and c.pod_uid),
            departed_pods={uid: departed[uid] for c in homeless if (uid := c.pod_uid) in departed and uid},
            accounts=await self._accounts(workers),
            timeouts=self._timeouts,
            nodes=self._fleet.nodes,
            unhealthy=self._health.failed(),
            push_pools=frozenset(key for key, pool in self._fleet.pools.items() if pool.spec.dispatch == "Push"),
            silent_seconds={id_: self._clock.monotonic() - at for id_, (_, at) in self._heard.items()},
        )

    async def _row(self, claim_id: str) -> Claim | None:
        return await self._ledger.claims.get(claim_id) if claim_id else None

    async def _is_absent(self, claim: Claim) -> bool:
        """Only a live 404, or another uid under that name, proves absence (rule 13)."""
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

    async def _enforce(self, rule: Rule, snapshot: ClaimsSnapshot, live: LiveClaims) -> InvariantCheck:
        memory = self._memories[rule.id]
        acts = rule.plan(snapshot)
        now = self._clock.now()
        verdict = apply_rails(
            acts, memory.sightings, now, self._brakes(rule, snapshot, live), confirm_seconds=rule.confirm_seconds
        )
        found = sum(act.key not in memory.sightings for act in acts)
        RAILS_HELD.labels(rule.id).set(len(verdict.held))
        healed = []
        for act in verdict.allowed:
            if await self._remedies.apply(act):
                healed.append((now - verdict.sightings[act.key]).total_seconds())
        memory.sightings = verdict.sightings
        held = {"held": verdict.held[0].because} if verdict.held else {}
        evidence = {"subject": acts[0].subject.name, **acts[0].evidence, **held} if acts else None
        return InvariantCheck(
            id=rule.id, at=now, broken=len(acts) - len(healed), found=found, healed=tuple(healed), evidence=evidence
        )

    def _brakes(self, rule: Rule, snapshot: ClaimsSnapshot, live: LiveClaims) -> tuple[str, ...]:
        paused = self._switches.why_paused(rule.id)
        brakes = compute_brakes(see_cluster_and_ledger(self._fleet, paused, self._trust, live))
        if snapshot.claims and not snapshot.workers:
            return (*brakes, f"no worker is seen at all, though {len(snapshot.claims)} claims are live")
        return brakes

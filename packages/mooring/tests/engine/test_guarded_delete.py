"""Destructive acts: within the rails, capped for the whole fleet, counted over all scopes."""

from dataclasses import dataclass
from typing import Any

import pytest

from drydock import VirtualLoop
from hawser.clock import Entropy
from hawser.errors import ConnectionFailed, ObjectConflict, Status
from mooring.engine.audit import DONE, Auditor, Result
from mooring.engine.guarded_delete import GuardedActs, Limits, Round
from mooring.engine.metrics import RAILS_HELD, LeaderGauge
from mooring.ledger.records import AuditFilter
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.audit import Subject
from mooring.model.proof import Proofs, by_cluster, by_ledger

INVARIANT = "warm-floor"


@dataclass(frozen=True)
class Delete:
    name: str
    age_seconds: float = 400.0
    floor_seconds: float = 300.0
    proofs: Proofs = (by_ledger("no live claim"), by_cluster("phase is Failed"))
    invariant: str = INVARIANT
    action: str = "delete"
    reason: str = "it failed"

    @property
    def key(self) -> str:
        return f"{INVARIANT}/{self.name}"

    @property
    def subject(self) -> Subject:
        return Subject("Pod", "runners", self.name, self.name)

    @property
    def evidence(self) -> dict[str, Any]:
        return {"proofs": [str(proof) for proof in self.proofs]}


class Rails:
    """Guarded acts over a ledger in memory; `fails` decides how an act ends."""

    def __init__(self, cap: int = 3) -> None:
        self.clock = VirtualLoop.running().clock
        self.ledger = MemoryLedger(MemoryStore(), clock=self.clock, entropy=Entropy(1))
        self.term = 0
        auditor = Auditor(self.ledger, self.clock, Entropy(2), "a", lambda: self.term)
        self.acts = GuardedActs(INVARIANT, auditor, self.clock, Limits(cap=cap))
        self.deleted: list[str] = []
        self.fails: Exception | None = None

    async def tick(self, scope: str, *names: str, brakes: tuple[str, ...] = ()) -> Round[Delete]:
        if not self.term:
            lead = await self.ledger.replicas.register("a", address="", version="", now=self.clock.now())
            self.term = lead.epoch
        return await self.acts.carry_out(scope, [Delete(name) for name in names], brakes, self._delete)

    async def confirm(self, scope: str, *names: str) -> Round[Delete]:
        """Asked for on two ticks."""
        await self.tick(scope, *names)
        await self.clock.sleep(2.0)
        return await self.tick(scope, *names)

    async def _delete(self, act: Delete) -> Result:
        if self.fails is not None:
            raise self.fails
        self.deleted.append(act.name)
        return DONE


def held() -> float:
    [metric] = RAILS_HELD.collect()
    return sum(sample.value for sample in metric.samples if sample.labels["invariant"] == INVARIANT)


@pytest.fixture(autouse=True)
def leader() -> None:
    LeaderGauge.export_in(lambda: 1)
    RAILS_HELD.remove(INVARIANT)


async def test_what_is_asked_for_on_two_ticks_is_done_with_its_audit_row() -> None:
    rails = Rails()
    done = await rails.confirm("runners/linux", "a")
    assert rails.deleted == ["a"] and [act.name for act in done.done] == ["a"]
    assert done.healed_seconds == (2.0,)
    [row] = (await rails.ledger.audit.list(AuditFilter())).items
    assert row.entry.evidence["proofs"] == ["ledger: no live claim", "cluster: phase is Failed"]


async def test_the_cap_of_a_tick_holds_for_the_whole_fleet() -> None:
    rails = Rails(cap=3)
    for pool in ("one", "two"):
        await rails.tick(pool, f"{pool}-0", f"{pool}-1")
    await rails.clock.sleep(2.0)
    for pool in ("one", "two"):
        await rails.tick(pool, f"{pool}-0", f"{pool}-1")
    assert rails.deleted == ["one-0", "one-1", "two-0"]
    await rails.clock.sleep(2.0)
    await rails.tick("two", "two-1")
    assert rails.deleted[-1] == "two-1"


async def test_held_acts_are_counted_over_all_scopes() -> None:
    rails = Rails()
    await rails.tick("one", "a", "b", brakes=("paused",))
    await rails.tick("two", "c", brakes=("paused",))
    assert held() == 3
    await rails.tick("one", brakes=("paused",))
    assert held() == 1
    rails.acts.forget("two")
    assert held() == 0


async def test_what_fails_or_changed_is_still_broken_and_looked_at_again() -> None:
    rails = Rails()
    rails.fails = ConnectionFailed("no answer")
    failed = await rails.confirm("one", "a")
    assert (failed.done, failed.broken) == ((), 1)
    assert failed.undone[0][1] == "failed: no answer" and failed.wake_at is not None
    rails.fails = ObjectConflict(Status(code=409, message="it was claimed"))
    changed = await rails.tick("one", "a")
    assert changed.undone[0][1] == "it was claimed"


async def test_a_brake_stops_everything() -> None:
    rails = Rails()
    await rails.confirm("one", "a")
    rails.deleted.clear()
    await rails.tick("one", "b")
    await rails.clock.sleep(2.0)
    stopped = await rails.tick("one", "b", brakes=("none of 3 nodes is Ready",))
    assert rails.deleted == [] and stopped.held[0].because == "none of 3 nodes is Ready"

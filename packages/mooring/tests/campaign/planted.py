"""Bugs that the judge must find: each is planted into the product, and seeds are played until it is caught."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import patch

import hawser.client
import mooring.controllers.invariants.reconciler as invariant_passes
import mooring.controllers.invariants.snapshot as claim_snapshots
import mooring.ledger.twin.claims as twin_claims
from hawser.resources import NAMESPACES
from mooring.controllers.claims.ready_index import ReadyIndex
from mooring.controllers.claims.shares import Shares
from mooring.controllers.invariants.snapshot import ClaimsSnapshots
from mooring.engine.audit import Auditor
from mooring.engine.creator import Creator
from mooring.engine.fitness import Fitness
from mooring.engine.leader import Leadership
from mooring.engine.stored_time import LedgerClock
from mooring.ledger.twin.store import MemoryStore
from mooring.model.audit import AuditEntry
from mooring.model.errors import MooringError
from packages.mooring.tests.campaign.troubles import Trouble
from packages.mooring.tests.scenarios.harbour import NAMESPACE

Plant = Callable[[], Any]
_create, _ask = Creator.create, Fitness.ask


async def _act_without_a_row(self: Auditor, act: Callable[[], Any], **about: Any) -> Any:
    entry = AuditEntry(
        id=self._entropy.uuid(), at=self._clock.now(), actor=about["actor"], replica=self._replica_id,
        action=about["action"], subject=about["subject"], reason=about["reason"], evidence=about["evidence"],
    )  # fmt: skip
    return await self._attempt(act, entry)


async def _write_at_every_look(self: Fitness) -> None:
    await _ask(self)
    with suppress(MooringError):
        await self._client.merge_patch(NAMESPACES, NAMESPACE, {"metadata": {"labels": {"seen": "true"}}})


async def _create_under_any_name(self: Creator, resource: Any, body: Any, namespace: str, is_ours: Any) -> Any:
    if resource.kind == "Job":
        name = f"{body['metadata']['name']}-{self._entropy.below(4)}"  # more would make Jobs without end
        body = {**body, "metadata": {**body["metadata"], "name": name}}
    return await _create(self, resource, body, namespace, is_ours)


async def _nothing(*_: Any, **__: Any) -> None:
    return None


def _everybody_is_silent(self: ClaimsSnapshots) -> dict[str, float]:
    return dict.fromkeys(self._heard, 10_000.0)


@contextmanager
def _all(*patches: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for one in patches:
            stack.enter_context(one)
        yield


CUT = (Trouble("ledger-cut", 40, 60, "a"), Trouble("ledger-cut", 40, 60, "b"))
LOST = tuple(Trouble("ledger-answers-lost", 20, 100, who) for who in "abc")
SKEWED = (Trouble("clock-jump", 15, 0, "a", 3600), Trouble("clock-jump", 15, 0, "b", -3600))
NONE: tuple[Trouble, ...] = ()
BLIND = (*(Trouble("watch-lags", 15, 130, who) for who in "abc"), Trouble("pool-resized", 16, size=0.0))
HANDED_ON = (
    *(Trouble("watch-lags", 15, 130, who) for who in "abc"),
    *(Trouble("kill", 40 + 20 * n, 8, who) for n, who in enumerate("abca")),  # the next leader sees no Job yet
)
CALM = (Trouble("history-compacted", 140),)

PLANTED: dict[str, tuple[Plant, tuple[Trouble, ...]]] = {
    "replicas believe their caches, and a slot that is taken is given away": (
        lambda: _all(
            patch.object(twin_claims, "_holder", lambda *_: None),
            patch.object(ReadyIndex, "learn", lambda *_: None),
            patch.object(Shares, "rank", lambda *_: 0),
        ),
        BLIND,
    ),
    "deletes have no preconditions": (lambda: patch.object(hawser.client, "_delete_options", lambda *_: {}), NONE),
    "a repeated key is not recognised": (lambda: patch.object(twin_claims, "find_key", lambda *_: None), LOST),
    "stored moments are of the machine's clock": (
        lambda: patch.object(LedgerClock, "now", lambda self: self.machine.now()),
        SKEWED,
    ),
    "a leader cut off from the ledger leads on": (
        lambda: patch.object(Leadership, "leading", property(lambda self: self.leader_id == self.replica_id)),
        CUT,
    ),
    "epochs repeat": (lambda: patch.object(MemoryStore, "draw_epoch", lambda _: 7), NONE),
    "stamps stay after a release until they are reaped": (
        lambda: _all(
            patch("mooring.controllers.claims.stamps.Stamps.unstamp", _nothing),
            patch("mooring.controllers.claims.stamps.Stamps.unstamp_as_seen", _nothing),
        ),
        CALM,
    ),
    "stamps stay after a release, and nobody looks for them": (
        lambda: _all(
            patch("mooring.controllers.claims.stamps.Stamps.unstamp", _nothing),
            patch("mooring.controllers.claims.stamps.Stamps.unstamp_as_seen", _nothing),
            patch.object(invariant_passes, "plan_stamped_has_claim", lambda _: []),
        ),
        NONE,
    ),
    "a replica writes at every look": (lambda: patch.object(Fitness, "ask", _write_at_every_look), NONE),
    "deletes leave no audit row": (lambda: patch.object(Auditor, "carry_out", _act_without_a_row), NONE),
    "Jobs have any name": (lambda: patch.object(Creator, "create", _create_under_any_name), HANDED_ON),
    "a holder that beats expires": (
        lambda: _all(
            patch.object(ClaimsSnapshots, "_silent_seconds", _everybody_is_silent),
            patch.object(claim_snapshots, "find_suspects", lambda *_: []),
        ),
        NONE,
    ),
}

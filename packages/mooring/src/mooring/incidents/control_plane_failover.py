"""control-plane-failover.

A control plane dies while its workers are protected, and its successor does not know them.
"""

import asyncio
import contextlib
from dataclasses import dataclass

from drydock import Nodes, plain_nodes
from drydock.faults import Crash, Crashed, Rule
from hawser.errors import EvictionBlocked, ObjectConflict, ObjectNotFound
from hawser.views import Pod
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.replica import Replica
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.model import names
from mooring.model.claim import Claim
from mooring.model.claim_request import ClaimRequest

POOL = f"{NAMESPACE}/linux"
NODES = 4
WORKERS = 16
AT_WORK = 6  # sessions that continue through the failover
GIVEN_BACK = 4  # sessions whose end is recorded by a control plane that dies before it has changed their workers
NEW = 3  # sessions that begin under the successor
TTL_SECONDS = 80_000
WATCHED_SECONDS = 1800.0
SETTLED_SECONDS = 240.0
HEALED_WITHIN_SECONDS = 60.0  # 20 s until it counts as dead, and two ticks


@dataclass(slots=True)
class Crew:
    """The workers of the first control plane and later ones.

    Those with a session, and those whose session has ended.
    """

    stage: Stage
    at_work: list[Claim]
    over: list[Claim]

    def stale(self) -> list[Pod]:
        """Workers that are protected without a session."""
        return [pod for pod in self._pods(self.over) if _is_protected(pod)]

    def bare(self) -> list[Pod]:
        """Workers with a session that are not protected."""
        return [pod for pod in self._pods(self.at_work) if not _is_protected(pod)]

    def _pods(self, claims: list[Claim]) -> list[Pod]:
        uids = {claim.pod_uid for claim in claims}
        return [pod for pod in self.stage.watch.cache.values() if pod.metadata.uid in uids]


class ControlPlaneFailover(Incident):
    """Stale annotations blocked consolidation for ever, and busy workers were never protected."""

    name = "control-plane-failover"
    title = "a new control plane that cannot see what the old one held"
    story = (
        "A control plane dies while its workers carry its protection: some work on, others are done. Its successor, "
        "without adoption, never clears the ones and never protects those who begin under it."
    )
    protections = ("adopted", "busy-is-protected")
    hurry = 12

    def nodes(self) -> Nodes:
        return plain_nodes(NODES)

    async def play(self, stage: Stage, protected: bool) -> Figures:
        # The first control plane protects in both halves; only its successor lacks protection in the half without.
        if not protected:
            for rule in self.protections:
                await stage.ledger.invariants.resume(rule, actor="replay", now=stage.clock.now())
        crew = await _die_holding_workers(stage)
        if not protected:
            await stage.pause(self.protections)
        died = stage.seconds
        second = stage.start("second")
        await second.mooring.wait_synced()
        await second.mooring.switches.refresh()
        await _begin_more(stage, second, crew)
        healed = await _watch(stage, crew, died)
        before = _pod_patches(second)
        await stage.clock.sleep(stage.hurried(SETTLED_SECONDS))
        return await _figures(stage, crew, healed, _pod_patches(second) - before)


async def _die_holding_workers(stage: Stage) -> Crew:
    # The process dies at its first write to a pod after the stamps: when it would release a worker.
    dying = Rule(
        Crash("before"),
        methods=frozenset({"PATCH"}),
        path=r"/pods/[^/]+$",
        nth=frozenset({AT_WORK + GIVEN_BACK + 1}),
    )
    first = stage.start("first", [dying])
    await stage.pool(warm=WORKERS, max=WORKERS * 2, reuse="Always", idleSeconds=86_400)
    await stage.until_idle(WORKERS)
    claims = [
        await first.mooring.claims.desk.claim(POOL, ClaimRequest(f"analyst-{number}", ttl_seconds=TTL_SECONDS, wait=30))
        for number in range(AT_WORK + GIVEN_BACK)
    ]
    stage.narrate(f"{len(claims)} sessions run, and their workers are protected")
    await asyncio.gather(*(_give_back(first, claim) for claim in claims[AT_WORK:]))
    await first.kill()
    rows = [row for claim in claims if (row := await stage.ledger.claims.get(claim.id)) is not None]
    crew = Crew(stage, [row for row in rows if row.live], [row for row in rows if not row.live])
    stage.gauges["protected without session"] = lambda: len(crew.stale())
    stage.gauges["at work without protection"] = lambda: len(crew.bare())
    stage.narrate(
        f"the control plane dies: {len(crew.at_work)} sessions go on, {len(crew.over)} are over, "
        f"and {len(crew.stale())} of their workers stay protected"
    )
    return crew


async def _give_back(control: Replica, claim: Claim) -> None:
    with contextlib.suppress(Crashed):
        await control.mooring.claims.desk.release(claim.id, claim.epoch)


async def _begin_more(stage: Stage, second: Replica, crew: Crew) -> None:
    for number in range(NEW):
        wish = ClaimRequest(f"new-{number}", ttl_seconds=TTL_SECONDS, wait=30)
        crew.at_work.append(await second.mooring.claims.desk.claim(POOL, wish))
    stage.narrate(f"the successor is up, and {NEW} new sessions begin under it")


async def _watch(stage: Stage, crew: Crew, died: float) -> float | None:
    """Watch for half an hour, or until exactly the busy workers are protected; returns when that was."""
    within = HEALED_WITHIN_SECONDS if stage.hurry > 1 else WATCHED_SECONDS
    while stage.seconds - died < stage.hurried(within):
        await stage.clock.sleep(stage.hurried(1.0))
        if not crew.stale() and not crew.bare():
            stage.narrate("exactly the busy workers are protected")
            return stage.seconds - died
    stage.narrate(f"{len(crew.stale())} workers are protected without a session, {len(crew.bare())} work unprotected")
    return None


async def _figures(stage: Stage, crew: Crew, healed: float | None, patches: int) -> Figures:
    stale, bare = crew.stale(), crew.bare()
    live = (await stage.ledger.claims.live()).claims
    killed = await _evicted(stage, crew.at_work)
    moved = await _evicted(stage, crew.over)
    quick = healed is not None and healed <= stage.hurried(HEALED_WITHIN_SECONDS)
    return Figures(
        outage=not quick or bool(killed) or moved < len(crew.over) or bool(patches),
        measured={
            "protectedForNobody": len(stale),
            "workingUnprotected": len(bare),
            "healedAfterSeconds": None if healed is None else round(healed, 1),
            "idleWorkersThatCannotBeMoved": len(crew.over) - moved,
            "sessionsKilledByADrain": killed,
            "sessionsAliveAfterTheFailover": len(live),
            "podPatchesWhileSettled": patches,
        },
    )


async def _evicted(stage: Stage, claims: list[Claim]) -> int:
    """How many of their workers a drain evicts or finds gone."""
    count = 0
    for claim in claims:
        assert claim.pod_name is not None and claim.pod_uid is not None
        try:
            await stage.client.evict(claim.pod_name, NAMESPACE, uid=claim.pod_uid)
        except EvictionBlocked:
            continue
        except (ObjectNotFound, ObjectConflict):
            pass  # the invariants about stamps and claims have replaced it already
        count += 1
    return count


def _pod_patches(control: Replica) -> int:
    return sum(call.method == "PATCH" and "/pods/" in call.path for call in control.process.calls)


def _is_protected(pod: Pod) -> bool:
    return names.BUSY in pod.metadata.labels or names.DO_NOT_DISRUPT in pod.metadata.annotations

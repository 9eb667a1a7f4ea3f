"""drift-roll.

A roll of the node image taints nodes with running queries, and the queries die long before their node.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import msgspec

from drydock import SCRIPT_ANNOTATION, DrainPolicy, Drift, Nodes, Replacement, plain_nodes
from hawser.resources import PODS
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.sessions import Session, Sessions
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.model.pool import Protection

POOL = f"{NAMESPACE}/linux"
NODES = 16
DELETES = 24  # of 21 to 37 minutes
QUERIES = 7  # of 8 to 12 minutes
SETTLE_SECONDS = 5.0  # from the taint to the first eviction
NEIGHBOUR_SECONDS = 100.0  # how long the other pod on a node takes to end: the node exists for 108 s after its taint
ASK_SECONDS = 5.15  # how often a drain retries: twenty times within the life of a node without protected pods
PROTECTION = Protection()


@dataclass(frozen=True, slots=True)
class Roll:
    """The size: nodes, workers, the lengths of the sessions in seconds, and how many nodes are replaced at a time."""

    nodes: int
    workers: int
    sessions: Sequence[float]
    at_once: int


class DriftRoll(Incident):
    """31 queries died, a median of 5 s after the taint, while their node had 108 s left."""

    name = "drift-roll"
    title = "a node image roll kills running queries"
    story = (
        "Every node is replaced by one with a newer image, a few at a time, while 31 queries run, 24 of them deletes "
        "of 21 to 37 minutes. Without protection each dies seconds after its node is tainted."
    )
    protections = ("busy-is-protected",)
    hurry = 12
    roll: ClassVar[Roll] = Roll(
        nodes=NODES,
        workers=40,
        sessions=(
            *(1260.0 + 960.0 * number / (DELETES - 1) for number in range(DELETES)),
            *(480.0 + 240.0 * number / (QUERIES - 1) for number in range(QUERIES)),
        ),
        at_once=4,
    )

    def nodes(self) -> Nodes:
        return plain_nodes(self.roll.nodes)

    async def play(self, stage: Stage, protected: bool) -> Figures:
        sessions = await self._begin(stage)
        began = stage.seconds
        tainted, replaced = await self._roll(stage)
        took = stage.seconds - began
        stage.narrate(f"all {len(replaced)} nodes are replaced after {took:.0f} s")
        if protected or not sessions.died:
            await sessions.end()
        return self._figures(stage, sessions, tainted, replaced, took)

    async def _begin(self, stage: Stage) -> Sessions:
        """A pool of workers over all nodes, another pod on each node, and sessions on some of the workers."""
        control = stage.start()
        spare = self.roll.workers - len(self.roll.sessions)
        await stage.pool(
            warm=self.roll.workers,
            max=self.roll.workers * 3,
            reuse="Always",
            idleSeconds=86_400,
            protection={
                "ceilingSeconds": round(stage.hurried(PROTECTION.ceiling_seconds)),
                "graceSeconds": round(stage.hurried(PROTECTION.grace_seconds)),
            },
        )
        await stage.until_idle(self.roll.workers)
        for node in stage.sandbox.fleet.node_names:
            await _place_neighbour(stage, node)
        sessions = Sessions(stage, control, POOL)
        await asyncio.gather(*(sessions.begin(stage.hurried(seconds)) for seconds in self.roll.sessions))
        await stage.change({"warm": spare})
        stage.gauges["sessions at work"] = lambda: sessions.at_work
        stage.gauges["sessions died"] = lambda: len(sessions.died)
        stage.narrate(f"{sessions.at_work} sessions run on {self.roll.nodes} nodes, {spare} workers are idle")
        return sessions

    async def _roll(self, stage: Stage) -> tuple[dict[str, float], list[Replacement]]:
        """Taint, drain like Karpenter, and replace each node; returns when each was tainted."""
        drift = Drift(stage.client, stage.sandbox.fleet, stage.clock, stage.entropy)
        bound = PROTECTION.ceiling_seconds + 2 * PROTECTION.grace_seconds
        policy = DrainPolicy(
            settle_seconds=stage.hurried(SETTLE_SECONDS),
            deadline_seconds=stage.hurried(bound),
            retry_seconds=stage.hurried(ASK_SECONDS),
        )
        tainted: dict[str, float] = {}
        replaced: list[Replacement] = []

        async def replace(node: str) -> None:
            tainted[node] = stage.seconds
            replaced.append(await drift.replace(node, policy, surge=True))

        nodes = sorted(stage.sandbox.fleet.node_names)
        at_once = self.roll.at_once if stage.hurry == 1 else len(nodes)
        stage.gauges["nodes replaced"] = lambda: len(replaced)
        for begin in range(0, len(nodes), at_once):
            group = nodes[begin : begin + at_once]
            stage.narrate(f"the roll taints {len(group)} nodes: {group[0]} to {group[-1]}")
            await asyncio.gather(*(replace(node) for node in group))
        return tainted, replaced

    def _figures(
        self,
        stage: Stage,
        sessions: Sessions,
        tainted: dict[str, float],
        replaced: list[Replacement],
        took: float,
    ) -> Figures:
        died = [session for session in sessions.died if session.node in tainted]
        held = [replacement.drain.seconds for replacement in replaced]
        longest = max(held, default=0.0)
        bound = stage.hurried(PROTECTION.ceiling_seconds + PROTECTION.grace_seconds + 2 * ASK_SECONDS)
        complete = len(replaced) == self.roll.nodes
        return Figures(
            outage=bool(sessions.died) or not complete or longest > bound,
            measured={
                "sessions": len(self.roll.sessions),
                "sessionsDied": len(sessions.died),
                "sessionsFinished": sessions.finished,
                "diedAfterTaintMedianSeconds": _median(_after_taint(session, tainted) for session in died),
                "nodeLivedAfterTaintMedianSeconds": _median(held),
                "nodeHeldLongestSeconds": round(longest, 1),
                "nodesReplaced": len(replaced),
                "podsForced": sum(len(replacement.drain.forced) for replacement in replaced),
                "rollTookSeconds": round(took, 1),
            },
        )


async def _place_neighbour(stage: Stage, node: str) -> None:
    """A foreign pod that ends slowly: it keeps a node alive after its taint."""
    seconds = stage.hurried(NEIGHBOUR_SECONDS)
    script = msgspec.json.encode({"runs": [{"stopSeconds": seconds}]}).decode()
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]},
                ]
            }
        }
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"neighbour-{node}", "annotations": {SCRIPT_ANNOTATION: script}},
        "spec": {
            "affinity": affinity,
            "terminationGracePeriodSeconds": round(seconds) + 30,
            "containers": [{"name": "main", "image": "log-shipper"}],
        },
    }
    await stage.client.create(PODS, body, NAMESPACE)


def _after_taint(session: Session, tainted: dict[str, float]) -> float:
    assert session.died_at is not None
    return session.died_at - tainted[session.node]


def _median(seconds: Iterable[float]) -> float | None:
    values = list(seconds)
    return round(median(values), 1) if values else None

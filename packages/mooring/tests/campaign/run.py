"""One run: three replicas, clients and objects of every kind through a list of troubles, then calm, then the judge."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from drydock import ContainerRun, Script, run_virtual
from drydock.faults import Crashed
from hawser.clock import Entropy
from mooring.incidents.replica import Replica
from mooring.incidents.stage import START
from mooring.kinds.resources import MANAGEDSERVICES, SUBMISSIONS, WARMUPS
from mooring.ledger.faults import Fault, LedgerCall
from mooring.model import names
from mooring.model.errors import MooringError
from packages.mooring.tests.campaign.clients import Client
from packages.mooring.tests.campaign.hands import Hands
from packages.mooring.tests.campaign.recording import RecordingTransport, record_leaders, record_pods, record_rows
from packages.mooring.tests.campaign.troubles import REPLICAS, STORM_SECONDS, Trouble, rules_for
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, harbour
from packages.mooring.tests.scenarios.submits import spec, submit
from packages.testing.judge import History, judge

CLIENTS, WARM, MOST = 3, 3, 6
CALM_SECONDS = 640.0  # a leak is healed after 300 s and two looks; the silence of a worker counts only after 670
QUIET_SECONDS = 60.0
_SUBMISSIONS = 2
_DEATHS = {"dies-before-a-statement": Fault.CRASH_BEFORE, "dies-after-a-statement": Fault.CRASH_AFTER}
_WARMUP = {"dataset": "core_nt", "shards": 2, "image": "fetcher", "command": ["fetch"]}
_SERVICE = {"image": "api:1", "port": 8080}


class Run:
    """The world of one run, and the hands that make trouble in it."""

    def __init__(self, world: Harbour, seed: int, troubles: Sequence[Trouble], history: History) -> None:
        self.world = world
        self.history = history
        self._chance = Entropy(seed + 1)
        self._troubles = troubles
        self._transport = world.sandbox.transport
        self._present: dict[str, Replica] = {}

    def start(self, who: str) -> None:
        """One more life of that replica."""
        world, now = self.world, self.world.seconds
        world.sandbox = replace(world.sandbox, transport=RecordingTransport(self._transport, who, world, self.history))
        self._present[who] = world.start(
            who, rules=rules_for(self._troubles, who, now), fault=lambda call: self._ledger_fault(who, call)
        )

    def _ledger_fault(self, who: str, call: LedgerCall) -> Fault:
        now = self.world.seconds
        for one in self._troubles:
            if not one.at <= now < one.until or one.who not in (who, ""):
                continue
            if one.kind in ("ledger-cut", "ledger-restart"):
                return Fault.AWAY
            if one.kind == "ledger-answers-lost" and call.mutation and self._chance.fraction() < 0.4:
                return Fault.LOSE_ANSWER
            if one.kind in _DEATHS and self._chance.fraction() < 0.02:
                return _DEATHS[one.kind]
        return Fault.NONE

    async def suffer(self) -> None:
        """All troubles that need a hand, each at its time."""
        hands = Hands(self.world, self.history, self._present, self.start)
        made = []
        for one in self._troubles:
            await self.world.clock.sleep(max(0.0, one.at - self.world.seconds))
            made.append(self.world.enter(hands.make(one)))
            self.history.note(self.world.seconds, "trouble", kind=one.kind, until=one.until)
        await asyncio.gather(*made)

    async def submit(self) -> None:
        """A few submissions, each repeated until it is accepted."""
        for number in range(_SUBMISSIONS):
            await self.world.clock.sleep(self._chance.between(15, 60))
            order = spec(f"night-{number}")
            while True:
                alive = [one for one in self._present.values() if one.process.alive and not one.task.done()]
                try:
                    view = await submit(alive[self._chance.below(len(alive))], order)
                    break
                except (MooringError, Crashed, IndexError, ValueError):
                    await self.world.clock.sleep(3)
            self.history.note(self.world.seconds, "accepted", submission=view.metadata.name)

    async def settle(self, clients: Sequence[Client]) -> None:
        """Calm: what is left, once nothing changes any more, or after a long time."""
        world = self.world
        await world.change({"warm": WARM})
        for client in clients:
            client.stopping = True
        deadline = world.seconds + CALM_SECONDS
        await self._arm()
        for calm_seconds in (0, 60):
            while not await self._is_whole(calm_seconds) and world.seconds < deadline:
                await world.clock.sleep(5)
            if calm_seconds == 0:
                await self._claim_all()
        state = await self._state()
        self.history.note(world.seconds, "settled", wanted=WARM, **state)

    async def _claim_all(self) -> None:
        """Every idle worker at once, at one replica after another."""
        for who, replica in sorted(self._present.items()):
            visitors = [Client(f"{who}-visitor-{n}", self.world, self._chance, self.history) for n in range(WARM)]
            claims = await asyncio.gather(*(visitor.claim_at(replica) for visitor in visitors))
            got = [(visitor, claim) for visitor, claim in zip(visitors, claims, strict=True) if claim is not None]
            self.history.note(self.world.seconds, "served", who=who, wanted=WARM, got=len(got))
            await asyncio.gather(*(visitor.give_back(claim) for visitor, claim in got))

    async def _is_whole(self, for_seconds: float) -> bool:
        """Now and later: what a lost node leaves behind is found after a while."""
        if await self._state() != _whole():
            return False
        await self.world.clock.sleep(for_seconds)
        return await self._state() == _whole()

    async def _arm(self) -> None:
        """As an operator does after a ledger has lost commits."""
        present = await self.world.ledger.meta.incarnation()
        await self.world.ledger.meta.arm(present.id, actor="operator", now=self.world.clock.now())

    async def furnish(self) -> None:
        """A pool in every run; a dataset and a service in half of them."""
        world = self.world
        await world.pool(warm=WARM, max=MOST, idleSeconds=20, reuse="Always", protection={"graceSeconds": 3})
        if self._chance.below(2):
            await world.client.create(WARMUPS, {"metadata": {"name": "core"}, "spec": _WARMUP}, NAMESPACE)
        if self._chance.below(2):
            await world.client.create(MANAGEDSERVICES, {"metadata": {"name": "api"}, "spec": _SERVICE}, NAMESPACE)

    async def _state(self) -> dict[str, Any]:
        pods = [pod for pod in await self.world.pods() if names.POOL in pod.metadata.labels]
        idle = [pod for pod in pods if pod.ready and not pod.terminating and names.OWNER not in pod.metadata.labels]
        stamped = [pod.metadata.name for pod in pods if names.OWNER in pod.metadata.labels]
        live = [claim.id for claim in (await self.world.ledger.claims.live()).claims]
        found = (await self.world.client.list(SUBMISSIONS, NAMESPACE)).items
        unfinished = [one.metadata.name for one in found if one.status.phase not in ("Succeeded", "Failed")]
        for kind, good in ((WARMUPS, "Ready"), (MANAGEDSERVICES, "Serving")):
            objects = (await self.world.client.list(kind.raw(), NAMESPACE)).items
            unfinished += [one["metadata"]["name"] for one in objects if (one.get("status") or {}).get("phase") != good]
        return {"idle": len(idle), "stamped": stamped, "live": live, "unfinished": unfinished}


def _whole() -> dict[str, Any]:
    return {"idle": WARM, "stamped": [], "live": [], "unfinished": []}


async def play(seed: int, troubles: Sequence[Trouble]) -> History:
    """The history of one run, in virtual time."""
    history = History()
    began: list[Harbour] = []

    def script(run: ContainerRun) -> Script | None:
        labels = run.pod["metadata"]["labels"]
        if names.DATASET in labels:
            return Script(run_seconds=3.0, exit_code=0)
        if names.STEP not in labels:
            return None
        owner = run.pod["metadata"]["ownerReferences"][0]["uid"]
        step, submission = labels[names.STEP], labels[names.SUBMISSION]
        history.note(began[0].seconds, "ran", submission=submission, step=step, job=owner)
        return Script(run_seconds=5.0, exit_code=0)

    async with harbour(seed, scripts=script) as world:
        began.append(world)
        world.words.otherwise = False  # type: ignore[attr-defined]
        zero = world.clock.now().timestamp() - world.seconds
        run = Run(world, seed, troubles, history)
        record_pods(world, history)
        world.enter(record_leaders(world, history))
        for who in REPLICAS:
            run.start(who)
        await run.furnish()
        clients = [Client(f"client-{n}", world, Entropy(seed + 10 + n), history) for n in range(CLIENTS)]
        working = [world.enter(client.run()) for client in clients]
        submitting = world.enter(run.submit())
        await run.suffer()
        await world.clock.sleep(max(0.0, STORM_SECONDS - world.seconds))
        await submitting
        await run.settle(clients)
        await world.leave(task for task in working if task.done())
        writes = _writes(world)
        await world.clock.sleep(QUIET_SECONDS)
        history.note(world.seconds, "quiet", writes=_writes(world) - writes)
        await record_rows(world, history, zero)
    return history


def _writes(world: Harbour) -> int:
    return sum(replica.process.mutations for replica in world.replicas)


def examine(seed: int, troubles: Sequence[Trouble]) -> tuple[list[str], History]:
    """Play it on a loop of its own; the violations, and the history."""
    history: History = run_virtual(lambda: play(seed, troubles), seed=seed, start=START)
    return judge(history), history

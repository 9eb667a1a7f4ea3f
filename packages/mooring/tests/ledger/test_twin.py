"""The twin and PostgreSQL side by side: the same story, made up at random, must get the same answers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import asdict

from drydock import run_virtual
from hawser.clock import Entropy, LoopClock
from mooring.ledger.port import Ledger
from mooring.ledger.records import Channel, ClaimFilter
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.claim import ENDED, Admission, AdmissionVerdict, Claim, EndCause, Outcome
from packages.mooring.tests.ledger.worlds import NOW, MemoryWorld, PostgresWorld, after, asked, on
from packages.mooring.tests.postgres import PostgresForTests

_SEQUENCES = {"epoch", "previous_epoch", "delivered_epoch", "ticket"}


class Pair:
    """Two ledgers that are told the same. Their sequences have gaps in different places, so epochs are compared
    by what they mean."""

    def __init__(self, memory: Ledger, postgres: Ledger, entropy: Entropy) -> None:
        self._ledgers = (memory, postgres)
        self._entropy = entropy
        self._ids: list[str] = []
        self._now = 0.0

    async def step(self) -> str:
        self._now += self._entropy.below(4)
        action = getattr(self, f"_{self._choose(_ACTIONS)}")
        answers = [_comparable(await call) for call in await action()]
        assert answers[0] == answers[1], action.__name__
        return str(answers[0])

    async def compare_all(self) -> None:
        for which in (ClaimFilter(), ClaimFilter(owner="o1"), ClaimFilter(states=frozenset(ENDED))):
            pages = [await ledger.claims.list(which, limit=500) for ledger in self._ledgers]
            assert [_comparable(claim) for claim in pages[0].items] == [_comparable(claim) for claim in pages[1].items]
        for pool in ("p0", "p1"):
            queues = [[claim.id for claim in await ledger.claims.queue("ci", pool)] for ledger in self._ledgers]
            assert queues[0] == queues[1]
        counts = [await ledger.claims.count_by_pool() for ledger in self._ledgers]
        assert counts[0] == counts[1]

    def _choose(self, options: Any) -> Any:
        return options[self._entropy.below(len(options))]

    def _request(self) -> Any:
        key = self._choose((None, None, "k1", "k2"))
        new = asked(
            self._choose(("o1", "o2")), pool=self._choose(("p0", "p1")), priority=self._entropy.below(2),
            idempotency_key=key, request_hash=self._choose(("h1", "h2")), retryable=bool(self._entropy.below(2)),
        )  # fmt: skip
        self._ids.append(new.id)
        return new

    def _slot(self) -> Any:
        return on(f"w{self._entropy.below(4)}", self._entropy.below(2))

    async def _each(self, call: Callable[[Ledger], Awaitable[Any]]) -> list[Awaitable[Any]]:
        return [call(ledger) for ledger in self._ledgers]

    async def _each_fenced(self, call: Callable[[Ledger, str, int], Awaitable[Any]]) -> list[Awaitable[Any]]:
        """Each ledger with its own epoch of the claim, sometimes an old one."""
        claim_id = self._choose(self._ids or ["nobody"])
        age = self._choose((0, 0, 0, 1))
        calls = []
        for ledger in self._ledgers:
            claim = await ledger.claims.get(claim_id)
            epoch = 0 if claim is None else (claim.previous_epoch or 0) if age else claim.epoch
            calls.append(call(ledger, claim_id, epoch))
        return calls

    async def _insert_claimed(self) -> list[Awaitable[Any]]:
        new, where = self._request(), self._slot()
        limit, overtake = self._choose((None, 3)), bool(self._entropy.below(2))
        return await self._each(
            lambda ledger: ledger.claims.insert_claimed(
                new, where, now=after(self._now), owner_limit=limit, overtake=overtake
            )
        )

    async def _insert_queued(self) -> list[Awaitable[Any]]:
        new, limit, wait = self._request(), self._choose((None, 3)), after(self._now + 10)
        return await self._each(
            lambda ledger: ledger.claims.insert_queued(new, now=after(self._now), wait_until=wait, owner_limit=limit)
        )

    async def _bind_next(self) -> list[Awaitable[Any]]:
        pool, where = self._choose(("p0", "p1")), self._slot()
        return await self._each(lambda ledger: ledger.claims.bind_next("ci", pool, where, now=after(self._now)))

    async def _bind(self) -> list[Awaitable[Any]]:
        where = self._slot()
        return await self._each_fenced(
            lambda ledger, claim, epoch: ledger.claims.bind(claim, epoch, where, now=after(self._now))
        )

    async def _mark_running(self) -> list[Awaitable[Any]]:
        payload = self._choose((None, {"x": 1}))
        return await self._each_fenced(
            lambda ledger, claim, epoch: ledger.claims.mark_running(claim, epoch, now=after(self._now), minted=payload)
        )

    async def _heartbeat(self) -> list[Awaitable[Any]]:
        return await self._each_fenced(
            lambda ledger, claim, epoch: ledger.claims.heartbeat(claim, epoch, now=after(self._now))
        )

    async def _end(self) -> list[Awaitable[Any]]:
        cause = self._choose(sorted(EndCause))
        return await self._each_fenced(
            lambda ledger, claim, epoch: ledger.claims.end(claim, epoch, cause, now=after(self._now), reason="r")
        )

    async def _expire(self) -> list[Awaitable[Any]]:
        heard = after(self._now - self._entropy.below(3))
        return await self._each_fenced(
            lambda ledger, claim, epoch: ledger.claims.expire(
                claim, epoch, heartbeat_at=heard, now=after(self._now), reason="r"
            )
        )

    async def _requeue(self) -> list[Awaitable[Any]]:
        wait, cause = self._choose((None, after(self._now + 5))), self._choose(sorted(EndCause))
        return await self._each_fenced(
            lambda ledger, claim, epoch: ledger.claims.requeue(
                claim, epoch, cause, now=after(self._now), reason="r", wait_until=wait
            )
        )

    async def _deliver_next(self) -> list[Awaitable[Any]]:
        pod = f"uid-w{self._entropy.below(4)}"
        return await self._each(lambda ledger: ledger.claims.deliver_next(pod, now=after(self._now)))

    async def _expire_waiting(self) -> list[Awaitable[Any]]:
        return await self._each(lambda ledger: ledger.claims.expire_waiting(now=after(self._now), limit=2))

    async def _prune(self) -> list[Awaitable[Any]]:
        return await self._each(lambda ledger: ledger.claims.prune(ended_before=after(self._now - 20), limit=2))

    async def _position(self) -> list[Awaitable[Any]]:
        return await self._each_fenced(lambda ledger, claim, _: ledger.claims.position(claim))


_ACTIONS = (
    "insert_claimed", "insert_claimed", "insert_queued", "bind_next", "bind", "mark_running", "mark_running",
    "heartbeat", "end", "expire", "requeue", "deliver_next", "expire_waiting", "prune", "position",
)  # fmt: skip


def _comparable(answer: Any) -> Any:
    match answer:
        case Claim():
            values = {name: value for name, value in asdict(answer).items() if name not in _SEQUENCES}
            return values | {"delivered": answer.delivered_epoch == answer.epoch, "moved": bool(answer.previous_epoch)}
        case Outcome() | Admission():
            return answer.verdict, _comparable(answer.claim)
        case tuple():
            return tuple(_comparable(item) for item in answer)
    return answer


async def test_the_twin_answers_as_postgresql_does(postgres: PostgresForTests) -> None:
    seen: set[str] = set()
    for seed in range(12):
        real, twin = PostgresWorld(postgres), MemoryWorld()
        try:
            pair = Pair(await twin.open(), await real.open(), Entropy(seed))
            for _ in range(80):
                answer = await pair.step()
                seen.update(word for word in _RARE if word in answer)
            await pair.compare_all()
        finally:
            await real.close()
    assert seen == set(_RARE), "the stories met every kind of answer"


_RARE = (
    "DONE", "ALREADY", "STALE", "ENDED", "REFUSED", "MISSING", "Verdict.SLOT_TAKEN", "CREATED", "EXISTING",
    "QUEUE_AHEAD", "AdmissionVerdict.SLOT_TAKEN", "KEY_REUSED", "LIMIT_REACHED",
)  # fmt: skip


def test_the_twin_gives_every_process_its_turn_in_virtual_time() -> None:
    async def race() -> tuple[int, ...]:
        clock, store, winners = LoopClock(NOW), MemoryStore(), []

        async def process(number: int) -> None:
            ledger = MemoryLedger(store, clock=clock, entropy=Entropy(number))
            admission = await ledger.claims.insert_claimed(asked(), on(f"w{number % 2}"), now=clock.now())
            if admission.verdict is AdmissionVerdict.CREATED:
                winners.append(number)

        await asyncio.gather(*(process(number) for number in range(6)))
        assert len(store.holders) == len(winners) == 2
        return tuple(winners)

    by_seed = {seed: run_virtual(race, seed=seed, start=NOW) for seed in range(8)}
    assert len(set(by_seed.values())) > 1, "another order, another winner"
    assert all(run_virtual(race, seed=seed, start=NOW) == winners for seed, winners in by_seed.items())


def test_the_twins_notifications_keep_their_order_under_any_seed() -> None:
    async def story() -> list[str]:
        clock, store = LoopClock(NOW), MemoryStore()
        ledger = MemoryLedger(store, clock=clock, entropy=Entropy(1))
        heard: list[str] = []
        ledger.listen(Channel.QUEUE, lambda wake: heard.append(wake.payload))
        for number in range(5):
            await ledger.notify(Channel.QUEUE, str(number))
        await clock.sleep(1)
        return heard

    for seed in range(20):
        assert run_virtual(story, seed=seed, start=NOW) == ["0", "1", "2", "3", "4"]

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import pytest

from mooring.clock import Entropy
from mooring.kube.errors import ConnectionFailed, error_from_answer
from mooring.kube.transport import Request, Response
from mooring.sandbox.faults import (
    Answer,
    Crash,
    Crashed,
    CutStream,
    Delay,
    DropEvents,
    Duplicate,
    EmptyList,
    FailStream,
    FaultyTransport,
    Hang,
    LagEvents,
    LoseAnswer,
    Plan,
    Process,
    Refuse,
    RepeatEvents,
    ReplayOldEvents,
    Rule,
    SilenceStream,
    SkewedClock,
    Sometimes,
    StaleRead,
)
from mooring.sandbox.virtual import VirtualLoop, run_virtual

T = TypeVar("T")
START = datetime(2026, 3, 1, tzinfo=UTC)
PODS = "/api/v1/namespaces/default/pods"
GET = Request("GET", PODS + "/a")
POST = Request("POST", PODS, body=b"{}")
WATCH = Request("GET", PODS, query=(("watch", "1"),))


class Server:
    """Answers with a count of the requests it carried out; a watch gives the events it is handed."""

    def __init__(self) -> None:
        self.seen: list[Request] = []
        self.events: list[tuple[float, bytes]] = []
        self.body = b""
        self.closed = 0

    async def send(self, request: Request) -> Response:
        self.seen.append(request)

        async def close() -> None:
            self.closed += 1

        if ("watch", "1") in request.query:
            return Response(200, {}, self._stream(), close)
        return Response(200, {}, self._once(self.body or str(len(self.seen)).encode()), close)

    async def _once(self, body: bytes) -> AsyncGenerator[bytes, None]:
        yield body

    async def _stream(self) -> AsyncGenerator[bytes, None]:
        clock = VirtualLoop.running().clock
        for at, line in self.events:
            await clock.sleep(max(0.0, at - clock.monotonic()))
            yield line


def virtually(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return run_virtual(main, seed=1, start=START)


def faulty(server: Server, *rules: Rule, process: Process | None = None) -> FaultyTransport:
    return FaultyTransport(server, Plan(rules), VirtualLoop.running().clock, Entropy(5), process or Process())


def now() -> float:
    return VirtualLoop.running().time()


async def lines_read(response: Response) -> list[bytes]:
    lines = [line async for line in response]
    await response.close()
    return lines


def test_without_rules_calls_pass_and_are_recorded() -> None:
    async def main() -> None:
        server = Server()
        transport = faulty(server)
        assert await (await transport.send(GET)).read() == b"1"
        assert await (await transport.send(POST)).read() == b"2"
        assert [(call.index, call.method, call.path, call.effects) for call in transport.calls] == [
            (0, "GET", PODS + "/a", ()),
            (1, "POST", PODS, ()),
        ]
        assert transport.mutations == 1

    virtually(main)


@pytest.mark.parametrize(
    "request_",
    [
        Request("POST", PODS, query=(("dryRun", "All"),)),
        Request("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
        Request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        Request("GET", PODS),
    ],
)
def test_questions_and_dry_runs_are_no_mutations(request_: Request) -> None:
    async def main() -> int:
        transport = faulty(Server())
        await transport.send(request_)
        return transport.mutations

    assert virtually(main) == 0


def test_a_refused_call_has_no_effect() -> None:
    async def main() -> None:
        server = Server()
        transport = faulty(server, Rule(Refuse(), methods=frozenset({"POST"})))
        with pytest.raises(ConnectionFailed):
            await transport.send(POST)
        assert server.seen == []
        await transport.send(GET)
        assert transport.calls[0].effects == ("Refuse",)
        assert transport.process.fired == {"Refuse": 1}

    virtually(main)


def test_a_lost_answer_had_its_effect() -> None:
    async def main() -> None:
        server = Server()
        transport = faulty(server, Rule(LoseAnswer()))
        with pytest.raises(ConnectionFailed, match="lost"):
            await transport.send(POST)
        assert server.seen == [POST]
        assert server.closed == 1

    virtually(main)


@pytest.mark.parametrize(("after_effect", "carried_out"), [(False, 0), (True, 1)])
def test_an_error_answer_comes_before_or_after_the_effect(after_effect: bool, carried_out: int) -> None:
    async def main() -> None:
        server = Server()
        answer = Answer(
            504, "Timeout", retry_after_seconds=7, cause="ResourceVersionTooLarge", after_effect=after_effect
        )
        response = await faulty(server, Rule(answer)).send(POST)
        error = error_from_answer(response.status, response.headers, await response.read())
        assert type(error).__name__ == "TooNew"
        assert error.retry_after_seconds == 7
        assert len(server.seen) == carried_out

    virtually(main)


def test_a_duplicated_request_arrives_twice_and_the_second_answer_is_seen() -> None:
    async def main() -> None:
        server = Server()
        assert await (await faulty(server, Rule(Duplicate())).send(POST)).read() == b"2"

    virtually(main)


def test_a_hang_lasts_until_the_requests_own_time_out() -> None:
    async def main() -> None:
        server = Server()
        with pytest.raises(ConnectionFailed, match="no answer"):
            await faulty(server, Rule(Hang())).send(Request("GET", PODS, timeout_seconds=12))
        assert now() == 12
        assert server.seen == []
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(100):
                await faulty(server, Rule(Hang(after_effect=True))).send(Request("POST", PODS, timeout_seconds=None))
        assert now() == 112
        assert len(server.seen) == 1

    virtually(main)


def test_delays_add_up_and_go_with_another_fault() -> None:
    async def main() -> None:
        transport = faulty(Server(), Rule(Delay(2)), Rule(Refuse()), Rule(Delay(3)))
        with pytest.raises(ConnectionFailed):
            await transport.send(GET)
        assert now() == 5

    virtually(main)


def test_a_stale_read_repeats_an_answer_that_is_old_enough() -> None:
    async def main() -> None:
        transport = faulty(Server(), Rule(StaleRead(age_seconds=10), since_seconds=5))
        clock = VirtualLoop.running().clock
        assert await (await transport.send(GET)).read() == b"1"
        await clock.sleep(8)
        assert await (await transport.send(GET)).read() == b"2"  # nothing old enough yet
        await clock.sleep(4)
        assert await (await transport.send(GET)).read() == b"1"
        assert await (await transport.send(Request("GET", PODS + "/b"))).read() == b"3"  # another request
        assert transport.process.fired == {"StaleRead": 1}

    virtually(main)


def test_an_empty_list_keeps_its_version_and_lets_single_objects_and_watches_pass() -> None:
    async def main() -> None:
        server = Server()
        server.body = b'{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"more"},"items":[{}]}'
        transport = faulty(server, Rule(EmptyList(), resource="pods"))
        told = msgspec.json.decode(await (await transport.send(Request("GET", PODS))).read())
        assert told == {"kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": []}
        assert await (await transport.send(GET)).read() == server.body
        await (await transport.send(WATCH)).close()
        assert transport.process.fired == {"EmptyList": 1}

    virtually(main)


def test_a_clock_that_is_set_jumps_and_measures_on() -> None:
    async def main() -> None:
        true = VirtualLoop.running().clock
        clock = SkewedClock(true)
        clock.jump(-90)
        began = clock.monotonic()
        await clock.sleep(5)
        assert clock.monotonic() - began == 5
        assert (true.now() - clock.now()).total_seconds() == 90

    virtually(main)


@pytest.mark.parametrize(("moment", "carried_out"), [("before", 0), ("after", 1)])
def test_a_crashed_process_stays_dead_until_it_is_restarted(moment: Any, carried_out: int) -> None:
    async def main() -> None:
        server = Server()
        transport = faulty(server, Rule(Crash(moment), nth=frozenset({2})))
        await transport.send(GET)
        with pytest.raises(Crashed):
            await transport.send(POST)
        assert len(server.seen) == 1 + carried_out
        with pytest.raises(Crashed):
            await transport.send(POST)
        assert len(server.seen) == 1 + carried_out
        transport.process.restart()
        await transport.send(GET)
        assert [call.life for call in transport.calls] == [1, 1, 2]

    virtually(main)


def test_a_crash_is_not_caught_by_except_exception() -> None:
    assert not issubclass(Crashed, Exception)


def test_a_call_under_way_and_an_open_watch_die_with_the_process() -> None:
    async def main() -> None:
        server = Server()
        server.events = [(1, b"one\n"), (5, b"two\n")]
        transport = faulty(server, Rule(Delay(3), resource="nodes"))
        watch = await transport.send(WATCH)
        assert await anext(aiter(watch)) == b"one\n"
        slow = asyncio.create_task(transport.send(Request("POST", "/api/v1/nodes")))
        await VirtualLoop.running().clock.sleep(1)
        transport.process.crash("power cut")
        transport.process.restart()
        with pytest.raises(Crashed):
            await slow
        with pytest.raises(Crashed):
            await anext(aiter(watch))
        assert all(request.method != "POST" for request in server.seen)

    virtually(main)


def test_a_sweep_finds_every_call_and_can_crash_at_each() -> None:
    async def app(transport: FaultyTransport) -> None:
        await transport.send(GET)
        await transport.send(POST)
        await transport.send(Request("DELETE", PODS + "/a"))

    async def main() -> list[int]:
        clean = faulty(Server())
        await app(clean)
        carried_out = []
        for call in clean.calls:
            for moment in ("before", "after"):
                server = Server()
                with pytest.raises(Crashed):
                    await app(faulty(server, Rule(Crash(moment), nth=frozenset({call.index + 1}))))
                carried_out.append(len(server.seen))
        return carried_out

    assert virtually(main) == [0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("rule", "hit"),
    [
        (Rule(Refuse(), resource="pods"), {"pod", "eviction", "watch"}),
        (Rule(Refuse(), resource="namespaces"), {"namespace"}),
        (Rule(Refuse(), resource="leases"), {"lease"}),
        (Rule(Refuse(), path=r"/eviction$"), {"eviction"}),
        (Rule(Refuse(), watch=True), {"watch"}),
        (Rule(Refuse(), watch=False, methods=frozenset({"GET"})), {"pod", "namespace"}),
        (Rule(Refuse(), probability=0.0), set()),
        (Rule(Refuse(), until_seconds=0), set()),
        (Rule(Refuse(), times=2), {"pod", "eviction"}),
        (Rule(Refuse(), nth=frozenset({1, 5})), {"pod", "watch"}),
        (Rule(DropEvents()), set()),
    ],
)
def test_rules_hit_what_they_are_about(rule: Rule, hit: set[str]) -> None:
    requests = {
        "pod": GET,
        "eviction": Request("POST", PODS + "/a/eviction"),
        "namespace": Request("GET", "/api/v1/namespaces/default"),
        "lease": Request("PATCH", "/apis/coordination.k8s.io/v1/namespaces/default/leases/x"),
        "watch": WATCH,
    }

    async def main() -> set[str]:
        transport = faulty(Server(), rule)
        refused = set()
        for name, request in requests.items():
            try:
                await transport.send(request)
            except ConnectionFailed:
                refused.add(name)
        return refused

    assert virtually(main) == hit


def watched(events: list[tuple[float, bytes]], *rules: Rule) -> Callable[[], Coroutine[Any, Any, list[bytes]]]:
    async def main() -> list[bytes]:
        server = Server()
        server.events = events
        lines = await lines_read(await faulty(server, *rules).send(WATCH))
        assert server.closed == 1
        return lines

    return main


EVENTS = [(float(second), f'{{"number": {second}}}\n'.encode()) for second in range(1, 6)]
LINES = [line for _, line in EVENTS]


def test_events_can_vanish_repeat_and_come_again() -> None:
    assert virtually(watched(EVENTS, Rule(DropEvents()))) == []
    assert 0 < len(virtually(watched(EVENTS, Rule(DropEvents(0.75))))) < 5
    assert virtually(watched(EVENTS, Rule(RepeatEvents()))) == [line for line in LINES for _ in range(2)]
    replayed = virtually(watched(EVENTS, Rule(ReplayOldEvents())))
    assert len(replayed) == 9
    assert all(replayed[odd] in LINES[: odd // 2 + 1] for odd in range(2, 9, 2))


def test_late_events_lag_by_the_same_time_each_in_order() -> None:
    async def main() -> list[tuple[float, bytes]]:
        server = Server()
        server.events = EVENTS
        response = await faulty(server, Rule(LagEvents(30))).send(WATCH)
        return [(now(), line) async for line in response]

    assert virtually(main) == [(at + 30, line) for at, line in EVENTS]


def test_a_lagging_watch_can_be_closed_and_passes_failures_on() -> None:
    async def main() -> None:
        server = Server()
        server.events = EVENTS
        response = await faulty(server, Rule(LagEvents(30))).send(WATCH)
        assert await anext(aiter(response)) == LINES[0]
        await response.close()
        broken = await faulty(server, Rule(CutStream(2, "broken")), Rule(LagEvents(30))).send(WATCH)
        with pytest.raises(ConnectionFailed):
            await lines_read(broken)

    virtually(main)


def test_a_watch_can_be_cut_cleanly_inside_a_line_or_broken() -> None:
    assert virtually(watched(EVENTS, Rule(CutStream(2)))) == LINES[:2]
    *whole, part = virtually(watched(EVENTS, Rule(CutStream(2, "inside"))))
    assert whole == LINES[:2]
    assert 0 < len(part) < len(LINES[2])
    assert LINES[2].startswith(part)
    with pytest.raises(ConnectionFailed):
        virtually(watched(EVENTS, Rule(CutStream(0, "broken"))))


def test_a_silent_watch_stays_open_and_says_nothing() -> None:
    async def main() -> None:
        server = Server()
        server.events = EVENTS
        stream = aiter(await faulty(server, Rule(SilenceStream(1))).send(WATCH))
        assert await anext(stream) == LINES[0]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await anext(stream)

    virtually(main)


def test_an_error_can_come_inside_the_stream() -> None:
    *before, error = virtually(watched(EVENTS, Rule(FailStream(3))))
    assert before == LINES[:3]
    decoded = msgspec.json.decode(error)
    assert decoded["type"] == "ERROR"
    assert decoded["object"]["code"] == 410


def test_chunks_are_cut_into_whole_lines_first() -> None:
    text = b"".join(LINES)
    chunks = [(1.0, text[at : at + 7]) for at in range(0, len(text), 7)]
    assert virtually(watched(chunks, Rule(CutStream(3)))) == LINES[:3]


def test_what_never_happened_is_missing() -> None:
    sometimes = Sometimes(["Refuse", "Hang", "rare branch"])
    sometimes.add({"Refuse": 2})
    sometimes.reached("rare branch")
    assert sometimes.missing() == ["Hang"]
    assert sometimes.counts["Refuse"] == 2


def test_the_same_seed_meets_the_same_faults() -> None:
    async def main() -> list[tuple[str, ...]]:
        transport = faulty(Server(), Rule(Duplicate(), probability=0.4), Rule(Delay(1, spread_seconds=2)))
        for _ in range(50):
            await transport.send(POST)
        VirtualLoop.running().trace.record(str(transport.calls))
        return [call.effects for call in transport.calls]

    assert virtually(main) == virtually(main)
    assert len(set(virtually(main))) == 2

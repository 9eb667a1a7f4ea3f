import asyncio

import msgspec
import pytest

from drydock.faults import (
    Answer,
    ArriveLate,
    Delay,
    DropEvents,
    Duplicate,
    EmptyList,
    Hang,
    LoseAnswer,
    Refuse,
    Rule,
    SkewedClock,
    Sometimes,
    StaleRead,
)
from drydock.virtual.loop import VirtualLoop
from hawser.errors import ConnectionFailed, error_from_answer
from hawser.transport import Request
from packages.drydock.tests.faults.server import (
    GET,
    PODS,
    POST,
    WATCH,
    Server,
    faulty,
    now,
)


async def test_without_rules_calls_pass_and_are_recorded() -> None:
    server = Server()
    transport = faulty(server)
    assert await (await transport.send(GET)).read() == b"1"
    assert await (await transport.send(POST)).read() == b"2"
    assert [(call.index, call.method, call.path, call.effects) for call in transport.calls] == [
        (0, "GET", PODS + "/a", ()),
        (1, "POST", PODS, ()),
    ]
    assert transport.mutations == 1


@pytest.mark.parametrize(
    "request_",
    [
        Request("POST", PODS, query=(("dryRun", "All"),)),
        Request("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
        Request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        Request("GET", PODS),
    ],
)
async def test_questions_and_dry_runs_are_no_mutations(request_: Request) -> None:
    transport = faulty(Server())
    await transport.send(request_)
    assert transport.mutations == 0


async def test_a_refused_call_has_no_effect() -> None:
    server = Server()
    transport = faulty(server, Rule(Refuse(), methods=frozenset({"POST"})))
    with pytest.raises(ConnectionFailed):
        await transport.send(POST)
    assert server.seen == []
    await transport.send(GET)
    assert transport.calls[0].effects == ("Refuse",)
    assert transport.process.fired == {"Refuse": 1}


async def test_a_lost_answer_had_its_effect() -> None:
    server = Server()
    transport = faulty(server, Rule(LoseAnswer()))
    with pytest.raises(ConnectionFailed, match="lost"):
        await transport.send(POST)
    assert server.seen == [POST]
    assert server.closed == 1


@pytest.mark.parametrize(("after_effect", "carried_out"), [(False, 0), (True, 1)])
async def test_an_error_answer_comes_before_or_after_the_effect(after_effect: bool, carried_out: int) -> None:
    server = Server()
    answer = Answer(504, "Timeout", retry_after_seconds=7, cause="ResourceVersionTooLarge", after_effect=after_effect)
    response = await faulty(server, Rule(answer)).send(POST)
    error = error_from_answer(response.status, response.headers, await response.read())
    assert type(error).__name__ == "TooNew"
    assert error.retry_after_seconds == 7
    assert len(server.seen) == carried_out


async def test_a_duplicated_request_arrives_twice_and_the_second_answer_is_seen() -> None:
    server = Server()
    assert await (await faulty(server, Rule(Duplicate())).send(POST)).read() == b"2"


async def test_a_request_of_a_cut_connection_may_arrive_later() -> None:
    server = Server()
    transport = faulty(server, Rule(ArriveLate(20)))
    with pytest.raises(ConnectionFailed, match="cut"):
        await transport.send(POST)
    await asyncio.sleep(19)
    assert server.seen == []
    await asyncio.sleep(2)
    assert len(server.seen) == 1


async def test_a_hang_lasts_until_the_requests_own_time_out() -> None:
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


async def test_delays_add_up_and_go_with_another_fault() -> None:
    transport = faulty(Server(), Rule(Delay(2)), Rule(Refuse()), Rule(Delay(3)))
    with pytest.raises(ConnectionFailed):
        await transport.send(GET)
    assert now() == 5


async def test_a_stale_read_repeats_an_answer_that_is_old_enough() -> None:
    transport = faulty(Server(), Rule(StaleRead(age_seconds=10), since_seconds=5))
    clock = VirtualLoop.running().clock
    assert await (await transport.send(GET)).read() == b"1"
    await clock.sleep(8)
    assert await (await transport.send(GET)).read() == b"2"  # nothing old enough yet
    await clock.sleep(4)
    assert await (await transport.send(GET)).read() == b"1"
    assert await (await transport.send(Request("GET", PODS + "/b"))).read() == b"3"  # another request
    assert transport.process.fired == {"StaleRead": 1}


async def test_an_empty_list_keeps_its_version_and_lets_single_objects_and_watches_pass() -> None:
    server = Server()
    server.body = b'{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"more"},"items":[{}]}'
    transport = faulty(server, Rule(EmptyList(), resource="pods"))
    told = msgspec.json.decode(await (await transport.send(Request("GET", PODS))).read())
    assert told == {"kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": []}
    assert await (await transport.send(GET)).read() == server.body
    await (await transport.send(WATCH)).close()
    assert transport.process.fired == {"EmptyList": 1}


async def test_a_clock_that_is_set_jumps_and_measures_on() -> None:
    true = VirtualLoop.running().clock
    clock = SkewedClock(true)
    clock.jump(-90)
    began = clock.monotonic()
    await clock.sleep(5)
    assert clock.monotonic() - began == 5
    assert (true.now() - clock.now()).total_seconds() == 90


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
async def test_rules_hit_what_they_are_about(rule: Rule, hit: set[str]) -> None:
    requests = {
        "pod": GET,
        "eviction": Request("POST", PODS + "/a/eviction"),
        "namespace": Request("GET", "/api/v1/namespaces/default"),
        "lease": Request("PATCH", "/apis/coordination.k8s.io/v1/namespaces/default/leases/x"),
        "watch": WATCH,
    }

    transport = faulty(Server(), rule)
    refused = set()
    for name, request in requests.items():
        try:
            await transport.send(request)
        except ConnectionFailed:
            refused.add(name)
    assert refused == hit


def test_what_never_happened_is_missing() -> None:
    sometimes = Sometimes(["Refuse", "Hang", "rare branch"])
    sometimes.add({"Refuse": 2})
    sometimes.reached("rare branch")
    assert sometimes.missing() == ["Hang"]
    assert sometimes.counts["Refuse"] == 2


async def test_the_same_seed_meets_the_same_faults() -> None:
    async def main() -> list[tuple[str, ...]]:
        transport = faulty(Server(), Rule(Duplicate(), probability=0.4), Rule(Delay(1, spread_seconds=2)))
        for _ in range(50):
            await transport.send(POST)
        VirtualLoop.running().trace.record(str(transport.calls))
        return [call.effects for call in transport.calls]

    first = await main()
    assert await main() == first
    assert len(set(first)) == 2

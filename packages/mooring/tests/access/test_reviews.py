"""Reviews: remembered for a short while, shared, and what holds while the API server does not answer."""

import asyncio

from drydock.faults import Answer, Rule
from hawser.resources import ROLEBINDINGS
from mooring.api.access.sessions import COOKIE
from mooring.api.limits import LimitOptions
from mooring.incidents.stage import NAMESPACE
from mooring.ledger.twin.sessions import MemorySessions
from packages.mooring.tests.access.front import OPERATOR_TOKEN, make_account, make_namespace, open_front, request_token
from packages.mooring.tests.access.judging import make_callers

READ = f"/v1/pools/{NAMESPACE}/linux"
POOL = f"{READ}/claims"


def reviews(replica, kind="subjectaccessreviews"):
    return sum(kind in call.path for call in replica.process.calls)


async def test_a_right_that_is_taken_away_is_gone_within_ten_seconds(world):
    async with open_front(world, world.start()) as front:
        await world.pool(warm=1, max=1)
        callers = await make_callers(world)
        assert (await front.call("GET", READ, callers.reader)).status == 200
        await world.client.delete(ROLEBINDINGS, "reader", NAMESPACE)
        await world.clock.sleep(10)
        assert (await front.call("GET", READ, callers.reader)).status == 403


async def test_a_right_that_is_given_works_within_ten_seconds(world):
    async with open_front(world, world.start()) as front:
        await world.pool(warm=1, max=1)
        callers = await make_callers(world)
        token = await make_account(world, NAMESPACE, "late")
        assert (await front.call("GET", READ, token)).status == 403
        binding = await world.client.get(ROLEBINDINGS.raw(), "reader", NAMESPACE)
        subjects = [*binding["subjects"], {"kind": "ServiceAccount", "name": "late", "namespace": NAMESPACE}]
        await world.client.merge_patch(ROLEBINDINGS, "reader", {"subjects": subjects}, NAMESPACE)
        await world.clock.sleep(10)
        assert (await front.call("GET", READ, token)).status == 200
        assert callers.reader


async def test_equal_questions_share_one_review_and_its_answer_is_kept(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        await world.pool(warm=1, max=1)
        callers = await make_callers(world)
        answers = await asyncio.gather(*(front.call("GET", READ, callers.reader) for _ in range(20)))
        assert {answer.status for answer in answers} == {200}
        assert (reviews(replica), reviews(replica, "tokenreviews")) == (1, 1)
        await front.call("GET", READ, callers.reader)
        assert reviews(replica) == 1
        refused = [await front.call("POST", POOL, callers.reader, {}) for _ in range(3)]
        assert {answer.status for answer in refused} == {403} and reviews(replica) == 2


async def test_while_reviews_fail_who_could_read_may_read_for_five_minutes_and_nobody_writes(world):
    away = Rule(Answer(500, "InternalError", "etcd is away"), resource="subjectaccessreviews", since_seconds=100)
    replica = world.start(rules=[away])
    async with open_front(world, replica) as front:
        await world.pool(warm=1, max=1)
        callers = await make_callers(world)
        await world.clock.sleep(99 - world.seconds)
        assert (await front.call("GET", READ, callers.operator)).status == 200
        assert (await front.call("POST", f"{READ}/adopt", callers.operator, BODY)).status == 200
        await world.clock.sleep(11)
        assert (await front.call("GET", READ, callers.operator)).status == 200
        write = await front.call("POST", f"{READ}/adopt", callers.operator, BODY)
        assert (write.status, write.json["code"]) == (503, "unavailable") and "etcd is away" in write.json["message"]
        stranger = await front.call("GET", READ, callers.reader)
        assert stranger.status == 503
        assert (await front.call("POST", f"{READ}/adopt", OPERATOR_TOKEN, BODY)).status == 200
        await world.clock.sleep(290)
        assert (await front.call("GET", READ, callers.operator)).status == 503


BODY = {"selector": "a=b", "reason": "test", "dryRun": True}


async def test_a_token_is_reviewed_once_and_a_bad_one_costs_at_most_one_review(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        await make_namespace(world, "elsewhere")
        other = await make_account(world, NAMESPACE, "robot")
        wrong_audience = await request_token(world, NAMESPACE, "robot", audience="somebody-else")
        for token in ("wrong", "a.b.c", "x" * 20_000 + ".y.z", wrong_audience):
            answer = await front.call("GET", "/v1/whoami", token)
            assert answer.status == 401
        assert reviews(replica, "tokenreviews") == 0
        forged = other[:-4] + ("AAAA" if not other.endswith("AAAA") else "BBBB")
        for _ in range(5):
            assert (await front.call("GET", "/v1/whoami", forged)).status == 401
        assert reviews(replica, "tokenreviews") == 1


async def test_a_token_is_not_accepted_past_its_expiry_also_from_memory(world):
    async with open_front(world, world.start()) as front:
        token = await make_account(world, NAMESPACE, "robot", seconds=600)
        await world.clock.sleep(590)
        assert (await front.call("GET", "/v1/whoami", token)).status == 200
        await world.clock.sleep(11)
        answer = await front.call("GET", "/v1/whoami", token)
        assert answer.status == 401 and "expired" in answer.json["message"]


async def test_a_bad_bearer_at_dispatch_costs_no_review(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        for token in ("wrong", "a.b.c", "") * 5:
            assert (await front.call("POST", "/v1/dispatch", token, {})).status == 401
        assert reviews(replica, "tokenreviews") == 0


async def test_a_stream_ends_when_its_reader_may_not_read_any_more(world):
    async with open_front(world, world.start()) as front:
        await world.pool(warm=1, max=1)
        callers = await make_callers(world)
        for target in ("/v1/events", "/stream?page=claims"):
            following = asyncio.create_task(front.follow(target, callers.reader, 60))
            await world.clock.sleep(3)
            binding = await world.client.get(ROLEBINDINGS.raw(), "reader", NAMESPACE)
            await world.client.delete(ROLEBINDINGS, "reader", NAMESPACE)
            received, ended = await following
            assert received and ended, target
            for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
                binding["metadata"].pop(field, None)
            await world.client.create(ROLEBINDINGS, binding, NAMESPACE)
            await world.clock.sleep(11)


async def test_an_address_that_sends_forged_tokens_and_sessions_does_not_make_mooring_ask_about_them(
    world, monkeypatch
):
    looked_up = []
    find = MemorySessions.find

    async def recorded(sessions, id_hash, **at):
        looked_up.append(id_hash)
        return await find(sessions, id_hash, **at)

    monkeypatch.setattr(MemorySessions, "find", recorded)
    replica = world.start()
    async with open_front(world, replica, limits=LimitOptions(requests_per_second=1, request_burst=10)) as front:
        await world.pool(warm=1, max=1)
        known = await make_account(world, NAMESPACE, "known", "mooring-view")
        other = await make_account(world, NAMESPACE, "other", "mooring-view")
        assert (await front.call("GET", READ, known)).status == 200
        cookie = {"cookie": f"{COOKIE}={(await front.access.authentication.log_in(OPERATOR_TOKEN))}"}
        assert (await front.call("GET", READ, headers=cookie)).status == 200
        before = reviews(replica, "tokenreviews")
        head, payload, signature = other.split(".")
        forged = [await front.call("GET", READ, f"{head}.{payload}.{n:04}{signature[4:]}") for n in range(30)]
        assert [answer.status for answer in forged] == [401] * 10 + [429] * 20
        assert reviews(replica, "tokenreviews") - before == 10
        looked_up.clear()
        guessed = [await front.call("GET", READ, headers={"cookie": f"{COOKIE}={n:064x}"}) for n in range(5)]
        assert {answer.status for answer in guessed} == {429} and looked_up == []
        assert (await front.call("GET", READ, known)).status == 200, "who is known is not asked about"
        assert (await front.call("GET", READ, headers=cookie)).status == 200

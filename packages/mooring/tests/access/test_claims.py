"""Whose a claim is: the holder reads its payload and epoch, keeps it alive and releases it; others do not."""

import asyncio
import re
from typing import Any

import pytest

from mooring.controllers.claims.waiting_clients import Caller
from mooring.incidents.stage import NAMESPACE
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.access.front import OPERATOR_TOKEN, Front, make_account, open_front
from packages.mooring.tests.access.judging import Callers, make_callers

POOL = f"/v1/pools/{NAMESPACE}/linux/claims"
PAYLOAD = {"payload": {"secret": "canary"}}
HOLDER = f"system:serviceaccount:{NAMESPACE}:holder"


async def claim(front: Front, token: str, **body: Any) -> dict[str, Any]:
    answer = await front.call("POST", POOL, token, body)
    assert answer.status == 201, answer.body
    return dict(answer.json)


async def opened(world: Any, front_of: Any) -> Callers:
    await world.pool(warm=3, max=4, reuse="Always")
    await world.until_idle(3)
    return await make_callers(world)


async def test_without_an_owner_the_caller_is_the_owner(world):
    async with open_front(world, world.start()) as front:
        callers = await opened(world, front)
        made = await claim(front, callers.holder)
        assert made["owner"] == f"{NAMESPACE}.holder"
        named = await claim(front, callers.holder, owner=f"{NAMESPACE}.holder")
        assert named["owner"] == made["owner"]


async def test_another_owner_is_named_by_who_may_impersonate(world):
    async with open_front(world, world.start()) as front:
        callers = await opened(world, front)
        refused = await front.call("POST", POOL, callers.holder, {"owner": "acme"})
        assert (refused.status, refused.json["code"]) == (403, "forbidden")
        assert refused.json["detail"]["verb"] == "impersonate"
        assert (await claim(front, callers.operator, owner="acme"))["owner"] == "acme"


async def test_payload_and_epoch_are_for_the_holder_alone(world):
    async with open_front(world, world.start()) as front:
        callers = await opened(world, front)
        made = await claim(front, callers.holder, **PAYLOAD)
        assert made["payload"] == {"secret": "canary"} and made["epoch"] > 0
        path = f"/v1/claims/{made['id']}"
        own = (await front.call("GET", path, callers.holder)).json
        assert (own["payload"], own["epoch"]) == (made["payload"], made["epoch"])
        for token in (callers.rival, callers.reader, callers.operator, OPERATOR_TOKEN):
            seen = (await front.call("GET", path, token)).json
            assert (seen["id"], seen["payload"], seen["epoch"]) == (made["id"], None, None)
            (listed,) = (await front.call("GET", "/v1/claims", token)).json["items"]
            assert (listed["payload"], listed["epoch"]) == (None, None)
        (listed,) = (await front.call("GET", "/v1/claims", callers.holder)).json["items"]
        assert listed["epoch"] == made["epoch"]


@pytest.mark.slow
async def test_the_audit_trail_and_the_invariants_show_no_epoch_of_a_claim(world):
    async with open_front(world, world.start()) as front:
        await world.pool(warm=3, max=6, reuse="Never")
        await world.until_idle(3)
        callers = await make_callers(world)
        revoked, released, expired = [await claim(front, callers.holder, ttlSeconds=30) for _ in range(3)]
        await front.call("DELETE", f"/v1/claims/{revoked['id']}", callers.operator)
        await front.call("DELETE", f"/v1/claims/{released['id']}?epoch={released['epoch']}", callers.holder)
        await world.clock.sleep(1_000)
        rows = (await front.call("GET", "/v1/audit", callers.operator)).json["items"]
        assert {"release", "delete", "expire-claim"} <= {row["action"] for row in rows}
        assert expired["id"] in {row["name"] for row in rows}
        for path in ("/v1/audit", "/audit", "/audit.json", "/audit.csv", "/v1/invariants", "/invariants"):
            body = (await front.call("GET", path, callers.operator)).body.decode().lower()
            assert not re.search(r"epoch\W*[0-9]", body), path


async def test_only_the_holder_renews_and_releases_by_epoch(world):
    async with open_front(world, world.start()) as front:
        callers = await opened(world, front)
        made = await claim(front, callers.holder)
        path, beat = f"/v1/claims/{made['id']}", {"epoch": made["epoch"]}
        for token in (callers.rival, callers.operator, OPERATOR_TOKEN):
            assert (await front.call("POST", f"{path}/heartbeat", token, beat)).status == 403
            assert (await front.call("DELETE", f"{path}?epoch={made['epoch']}", token)).status == 403
            assert (await front.call("GET", f"{path}/stream", token)).status == 403
        assert (await front.call("DELETE", path, callers.rival)).status == 403
        assert (await front.call("POST", f"{path}/heartbeat", callers.holder, beat)).status == 200
        assert (await front.call("DELETE", f"{path}?epoch={made['epoch']}", callers.holder)).json["state"] == "released"


async def test_who_may_delete_claims_ends_those_of_others_under_its_own_name(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        callers = await opened(world, front)
        made = await claim(front, callers.holder)
        answer = await front.call("DELETE", f"/v1/claims/{made['id']}?reason=needed", callers.operator)
        assert (answer.status, answer.json["cause"]) == (200, "revoked")
        rows = (await front.call("GET", "/v1/audit?action=release", callers.operator)).json["items"]
        assert [row["actor"] for row in rows] == [f"system:serviceaccount:{NAMESPACE}:operator"]


async def test_a_claim_is_found_by_its_key_in_its_pool_by_those_who_may_read_it(world):
    async with open_front(world, world.start()) as front:
        callers = await opened(world, front)
        made = await claim(front, callers.holder, idempotencyKey="build-1", **PAYLOAD)
        await claim(front, callers.holder, idempotencyKey="build-2")
        path = f"/v1/claims?pool={NAMESPACE}/linux&key=build-1"

        async def found(path: str, token: str = callers.holder) -> list[dict[str, Any]]:
            answer = (await front.call("GET", path, token)).json
            assert answer["total"] == len(answer["items"]) <= 1
            return list(answer["items"])

        (own,) = await found(path)
        assert (own["id"], own["payload"], own["epoch"]) == (made["id"], made["payload"], made["epoch"])
        (seen,) = await found(path, callers.reader)
        assert (seen["id"], seen["payload"], seen["epoch"]) == (made["id"], None, None)
        assert [row["id"] for row in await found(f"{path}&owner={made['owner']}&state=running")] == [made["id"]]
        for other in (f"{path}0", f"{path}&owner=acme", f"{path}&state=queued", path.replace("/linux", "/mac")):
            assert await found(other) == [], other
        refused = await front.call("GET", "/v1/claims?key=build-1", callers.holder)
        assert (refused.status, refused.json["detail"]["field"]) == (400, "pool")


async def test_looking_at_a_queued_claim_by_its_key_is_a_sign_of_life_of_its_holder(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        await world.pool(warm=1, max=1, reuse="Always")
        await world.until_idle(1)
        callers = await make_callers(world)
        await claim(front, callers.holder)
        for key in ("watched", "forgotten"):
            wish = ClaimRequest(f"{NAMESPACE}.holder", wait=600, idempotency_key=key)
            caller = Caller(600, HOLDER)
            waiting = asyncio.create_task(replica.mooring.claims.desk.claim(f"{NAMESPACE}/linux", wish, caller))
            await world.clock.sleep(1)
            caller.disconnect()
            await asyncio.gather(waiting, return_exceptions=True)
        for _ in range(6):
            for token, key in ((callers.holder, "watched"), (callers.reader, "forgotten")):
                await front.call("GET", f"/v1/claims?pool={NAMESPACE}/linux&key={key}", token)
            await world.clock.sleep(8)
        forgotten, watched, _ = (await front.call("GET", "/v1/claims", callers.holder)).json["items"]
        assert (watched["idempotencyKey"], watched["state"]) == ("watched", "queued")
        assert (forgotten["state"], forgotten["cause"]) == ("expired", "abandoned")


async def test_a_key_of_another_holder_is_refused_and_nothing_of_its_claim_is_told(world):
    async with open_front(world, world.start()) as front:
        callers = await opened(world, front)
        made = await claim(front, callers.holder, idempotencyKey="build-1", **PAYLOAD)
        again = await claim(front, callers.holder, idempotencyKey="build-1", **PAYLOAD)
        assert again["id"] == made["id"]
        refused = await front.call("POST", POOL, callers.rival, {"idempotencyKey": "build-1", **PAYLOAD})
        assert (refused.status, refused.json["code"]) == (409, "key_reused")
        assert made["id"].encode() not in refused.body and b"canary" not in refused.body


async def test_a_key_of_another_holder_is_refused_also_when_nobody_is_idle(world):
    async with open_front(world, world.start()) as front:
        callers = await opened(world, front)
        made = [await claim(front, callers.holder, idempotencyKey=f"build-{n}") for n in range(3)]
        await world.change({"max": 3})
        refused = await front.call("POST", POOL, callers.rival, {"idempotencyKey": "build-1"})
        assert refused.status in (409, 503) and made[1]["id"].encode() not in refused.body


async def test_a_claim_from_before_holders_belongs_to_its_owner_and_to_the_operator(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        callers = await opened(world, front)
        old = await replica.mooring.claims.desk.claim(
            f"{NAMESPACE}/linux", ClaimRequest(f"{NAMESPACE}.holder", payload={"secret": "canary"})
        )
        assert old.holder == ""
        path = f"/v1/claims/{old.id}"
        assert (await front.call("GET", path, callers.holder)).json["epoch"] == old.epoch
        assert (await front.call("GET", path, OPERATOR_TOKEN)).json["epoch"] == old.epoch
        assert (await front.call("GET", path, callers.rival)).json["epoch"] is None
        beat = await front.call("POST", f"{path}/heartbeat", OPERATOR_TOKEN, {"epoch": old.epoch})
        assert beat.status == 200


async def test_a_claim_costs_no_more_round_trips_than_without_a_review_once_that_is_cached(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        callers = await opened(world, front)
        first = await claim(front, callers.holder)
        await front.call("DELETE", f"/v1/claims/{first['id']}?epoch={first['epoch']}", callers.holder)
        await world.clock.sleep(2)

        def reads_and_writes() -> tuple[int, int]:
            cluster = [call for call in replica.process.calls if "reviews" in call.path or call.method != "GET"]
            ledger = [call for call in replica.ledger.calls if call.noun == "claims" and call.method in MINE]
            return len(cluster), len(ledger)

        async def cost(work: Any) -> tuple[int, int]:
            before = reads_and_writes()
            await work
            after = reads_and_writes()
            return after[0] - before[0], after[1] - before[1]

        made: dict[str, Any] = {}

        async def whole(token: str) -> None:
            made.update(await claim(front, token))
            path = f"/v1/claims/{made['id']}"
            await front.call("POST", f"{path}/heartbeat", token, {"epoch": made["epoch"]})
            await front.call("DELETE", f"{path}?epoch={made['epoch']}", token)

        async def direct() -> None:
            desk = replica.mooring.claims.desk
            mine = await desk.claim(f"{NAMESPACE}/linux", ClaimRequest("me"))
            await desk.heartbeat(mine.id, mine.epoch)
            await desk.release(mine.id, mine.epoch)

        assert await cost(whole(callers.holder)) == await cost(direct())


MINE = {"insert_claimed", "mark_running", "heartbeat", "end", "get", "find_by_key"}


@pytest.mark.parametrize("name", ["holder", "holder.", "x" * 60])
async def test_two_accounts_never_become_one_owner(world, name):
    async with open_front(world, world.start()) as front:
        await world.pool(warm=2, max=2, reuse="Always")
        await world.until_idle(2)
        token = await make_account(world, NAMESPACE, name.strip("."), "mooring-claimer")
        made = await claim(front, token)
        assert len(made["owner"]) <= 63 and made["owner"].startswith(f"{NAMESPACE}.")

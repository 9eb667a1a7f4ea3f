"""Sessions of pages, static tokens, and logins that guess."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.api.access.control import AccessOptions
from mooring.api.access.sessions import COOKIE
from mooring.api.access.static_tokens import hash_token
from mooring.engine.housekeeping import PERIOD_SECONDS
from mooring.incidents.stage import NAMESPACE
from mooring.ledger.faults import Fault
from packages.mooring.tests.access.front import OPERATOR_TOKEN, Front, make_account, open_front

SAME = {"sec-fetch-site": "same-origin"}


def tokens_file(path: Path, **tokens: list[str]) -> AccessOptions:
    """One entry for each user, with the hashes of these tokens."""
    entries = [
        {"name": user, "user": user, "groups": ["ci"], "sha256": [hash_token(token) for token in valid]}
        for user, valid in tokens.items()
    ]
    path.write_bytes(msgspec.json.encode({"tokens": entries}))
    return AccessOptions(OPERATOR_TOKEN, tokens=path)


async def log_in(front: Front, token: str) -> dict[str, str]:
    answer = await front.call("POST", "/login", body={"token": token}, headers=SAME)
    assert answer.status == 303, answer.body
    cookie = answer.headers["set-cookie"]
    return {"cookie": cookie.partition(";")[0], **SAME}


async def user(front: Front, **how: Any) -> str | int:
    answer = await front.call("GET", "/v1/whoami", **how)
    return str(answer.json["user"]) if answer.status == 200 else answer.status


async def test_a_session_is_made_from_each_kind_of_token(world, tmp_path):
    options = tokens_file(tmp_path / "tokens", ci=["static-token"])
    async with open_front(world, world.start(), options) as front:
        kubernetes = await make_account(world, NAMESPACE, "robot")
        for token, expected in (
            (OPERATOR_TOKEN, "operator"),
            ("static-token", "ci"),
            (kubernetes, f"system:serviceaccount:{NAMESPACE}:robot"),
        ):
            headers = await log_in(front, token)
            assert await user(front, headers=headers) == expected
            assert token not in headers["cookie"]


async def test_the_ledger_keeps_the_hash_of_a_session_and_not_its_id(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        headers = await log_in(front, OPERATOR_TOKEN)
        session_id = headers["cookie"].removeprefix(f"{COOKIE}=")
        assert len(session_id) == 64
        kept = await replica.ledger.sessions.find(hash_token(session_id), now=world.clock.now())
        assert kept is not None and session_id not in str(kept)


@pytest.mark.slow
async def test_a_cookie_is_hidden_from_scripts_and_other_sites_and_secure_under_tls(world):
    async with open_front(world, world.start()) as front:
        answer = await front.call("POST", "/login", body={"token": OPERATOR_TOKEN}, headers=SAME)
        attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/", "max-age=43200"} <= attributes
        assert "secure" not in attributes
        secure = await front.call("POST", "/login", body={"token": OPERATOR_TOKEN}, headers=SAME, scheme="https")
        assert "secure" in secure.headers["set-cookie"].lower()


async def test_a_login_form_is_small(world):
    async with open_front(world, world.start()) as front:
        assert (await front.call("POST", "/login", body={"token": "x" * 17_000}, headers=SAME)).status == 413
        assert (await front.call("POST", "/login", body={"token": "x" * 8_000}, headers=SAME)).status == 401


async def test_a_page_offers_to_log_out_of_a_session_and_to_nobody_else(world):
    async with open_front(world, world.start()) as front:
        headers = await log_in(front, OPERATOR_TOKEN)
        page = {"accept": "text/html"}
        assert b"Log out" in (await front.call("GET", "/", headers=headers | page)).body
        assert b"Log out" in (await front.call("GET", "/nodes/nobody", headers=headers | page)).body
        assert b"Log out" not in (await front.call("GET", "/", OPERATOR_TOKEN, headers=page)).body
        assert b"Log out" not in (await front.call("GET", "/login", headers=page)).body
        ended = {**headers, "cookie": "mooring_session=" + "0" * 64}
        assert b"Log out" not in (await front.call("GET", "/", headers=ended | page)).body


async def test_a_session_ends_after_twelve_hours_or_with_a_logout(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        headers = await log_in(front, OPERATOR_TOKEN)
        replica.clock.jump(12 * 3600 - 60)
        assert await user(front, headers=headers) == "operator"
        await world.clock.sleep(61)
        assert await user(front, headers=headers) == 401
        headers = await log_in(front, OPERATOR_TOKEN)
        foreign = {**headers, "sec-fetch-site": "cross-site"}
        assert (await front.call("POST", "/logout", body={}, headers=foreign)).status == 403
        assert await user(front, headers=headers) == "operator"
        assert (await front.call("POST", "/logout", body={}, headers=headers)).status == 303
        assert await user(front, headers=headers) == 401


async def test_a_session_ends_with_the_static_token_that_it_was_made_from(world, tmp_path):
    options = tokens_file(tmp_path / "tokens", ci=["static-token"], other=["another"])
    async with open_front(world, world.start(), options) as front:
        headers = await log_in(front, "static-token")
        tokens_file(tmp_path / "tokens", other=["another"])
        await world.clock.sleep(3)
        assert await user(front, headers=headers) == 401
        assert await user(front, token="static-token") == 401
        assert await user(front, token="another") == "other"


async def test_a_static_token_is_replaced_while_both_are_valid(world, tmp_path):
    options = tokens_file(tmp_path / "tokens", ci=["old"])
    async with open_front(world, world.start(), options) as front:
        assert [await user(front, token=token) for token in ("old", "new")] == ["ci", 401]
        tokens_file(tmp_path / "tokens", ci=["old", "new"])
        await world.clock.sleep(3)
        assert [await user(front, token=token) for token in ("old", "new")] == ["ci", "ci"]
        tokens_file(tmp_path / "tokens", ci=["new"])
        await world.clock.sleep(3)
        assert [await user(front, token=token) for token in ("old", "new")] == [401, "ci"]


async def test_a_broken_file_keeps_the_tokens_from_before(world, tmp_path):
    options = tokens_file(tmp_path / "tokens", ci=["static-token"])
    async with open_front(world, world.start(), options) as front:
        assert await user(front, token="static-token") == "ci"
        (tmp_path / "tokens").write_text("tokens: [{name: x")
        await world.clock.sleep(3)
        assert await user(front, token="static-token") == "ci"
        assert "tokens" in front.access.authentication.static.problem
        tokens_file(tmp_path / "tokens", ci=["next"])
        await world.clock.sleep(3)
        assert [await user(front, token=token) for token in ("static-token", "next")] == [401, "ci"]
        assert front.access.authentication.static.problem == ""


async def test_while_the_ledger_is_away_a_session_seen_lately_may_read_and_not_write(world):
    away = False
    replica = world.start(fault=lambda call: Fault.AWAY if away and call.noun == "sessions" else Fault.NONE)
    async with open_front(world, replica) as front:
        headers, unseen = await log_in(front, OPERATOR_TOKEN), await log_in(front, OPERATOR_TOKEN)
        assert await user(front, headers=headers) == "operator"
        away = True
        await world.clock.sleep(590)
        assert await user(front, headers=headers) == "operator"
        assert await user(front, headers=unseen) == 503
        write = await front.call("POST", "/v1/invariants/adopted/resume", headers=headers)
        assert write.status == 503
        await world.clock.sleep(20)
        assert await user(front, headers=headers) == 503
        assert await user(front, token=OPERATOR_TOKEN) == "operator"


async def test_wrong_tokens_slow_their_address_down_and_a_wait_is_told(world):
    async with open_front(world, world.start()) as front:

        async def attempt(token: str = "wrong") -> Any:
            return await front.call("POST", "/login", body={"token": token}, headers=SAME)

        assert [(await attempt()).status for _ in range(3)] == [401, 401, 401]
        slow = await attempt(OPERATOR_TOKEN)
        assert slow.status == 429 and int(slow.headers["retry-after"]) >= 1
        waits = []
        for _ in range(8):
            refused = await attempt()
            waits.append(int(refused.headers["retry-after"]))
            await world.clock.sleep(waits[-1])
            assert (await attempt()).status == 401
        assert waits == sorted(waits) and waits[-1] <= 61
        await world.clock.sleep(61)
        assert (await attempt(OPERATOR_TOKEN)).status == 303
        assert (await attempt()).status == 401


async def test_no_token_is_taken_from_an_address(world):
    async with open_front(world, world.start()) as front:
        answer = await front.call("GET", f"/login?token={OPERATOR_TOKEN}")
        assert answer.status == 200 and "set-cookie" not in answer.headers


async def test_housekeeping_removes_sessions_that_expired(world):
    replica = world.start()
    async with open_front(world, replica) as front:
        replica.clock.jump(-12 * 3600)
        await log_in(front, OPERATOR_TOKEN)
        replica.clock.jump(12 * 3600)
        assert await replica.ledger.sessions.prune(now=replica.clock.now() - timedelta(seconds=60)) == 0
        await world.clock.sleep(PERIOD_SECONDS + 1)
        assert await replica.ledger.sessions.prune(now=replica.clock.now()) == 0

from typing import Any

from drydock.virtual.loop import VirtualLoop
from packages.drydock.tests.api.caller import PODS, Answer, Caller, caller

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def request_token(call: Caller, **spec: Any) -> Answer:
    return await call.post(f"{ACCOUNTS}/robot/token", {"spec": spec})


async def with_robot() -> Caller:
    call = caller()
    await call.post(ACCOUNTS, {"metadata": {"name": "robot"}})
    return call


async def review(call: Caller, token: str, *audiences: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"token": token}
    if audiences:
        spec["audiences"] = list(audiences)
    status: dict[str, Any] = (await call.post(REVIEWS, {"spec": spec})).body["status"]
    return status


async def test_a_token_is_good_for_the_api_until_it_expires() -> None:
    call = await with_robot()
    answer = await request_token(call, expirationSeconds=600)
    assert answer.status == 201
    assert answer.body["status"]["expirationTimestamp"] == "2026-03-01T12:10:00Z"
    robot = Caller(call.api, token=answer.body["status"]["token"])
    info = (await robot.post(WHO, {})).body["status"]["userInfo"]
    assert info["username"] == "system:serviceaccount:default:robot"
    assert info["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    await VirtualLoop.running().clock.sleep(599)
    assert (await robot.post(WHO, {})).status == 201
    await VirtualLoop.running().clock.sleep(1)
    assert (await robot.post(WHO, {})).status == 401


async def test_a_token_is_good_only_for_its_audience() -> None:
    call = await with_robot()
    token = (await request_token(call, audiences=["mooring-dispatch"])).body["status"]["token"]
    assert (await Caller(call.api, token=token).post(WHO, {})).status == 401
    good = await review(call, token, "mooring-dispatch", "other")
    assert good["authenticated"] is True and good["audiences"] == ["mooring-dispatch"]
    assert await review(call, token, "other") == {"user": {}, "error": "invalid bearer token"}
    assert await review(call, token) == {"user": {}, "error": "invalid bearer token"}


async def test_a_token_bound_to_a_pod_names_it_and_ends_with_it() -> None:
    call = await with_robot()
    made = await call.pod("a", node="n", spec={"serviceAccountName": "robot"})
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "a", "uid": made.meta["uid"]}
    token = (await request_token(call, audiences=["x"], boundObjectRef=bound)).body["status"]["token"]
    extra = (await review(call, token, "x"))["user"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["a"]
    assert extra["authentication.kubernetes.io/pod-uid"] == [made.meta["uid"]]
    assert extra["authentication.kubernetes.io/node-name"] == ["n"]
    await call.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    await call.pod("a", node="n", spec={"serviceAccountName": "robot"})
    assert "authenticated" not in await review(call, token, "x"), "the pod of that name is another one"


async def test_a_token_ends_with_its_account() -> None:
    call = await with_robot()
    token = (await request_token(call)).body["status"]["token"]
    await call.delete(f"{ACCOUNTS}/robot")
    await call.post(ACCOUNTS, {"metadata": {"name": "robot"}})
    assert (await Caller(call.api, token=token).post(WHO, {})).status == 401


async def test_a_token_that_was_tampered_with_is_no_token() -> None:
    call = await with_robot()
    head, payload, signature = (await request_token(call)).body["status"]["token"].split(".")
    for broken in (
        f"{head}.{payload[:-2]}.{signature}",
        f"{head}.{payload}.{signature[:-4]}AAAA",
        f"{head}.{payload}",
        "a.b",
    ):
        assert "authenticated" not in await review(call, broken)


async def test_what_cannot_be_bound_or_is_too_short_is_refused() -> None:
    call = await with_robot()
    await call.pod("a")
    short = await request_token(call, expirationSeconds=60)
    assert short.status == 422 and short.message.endswith("may not specify a duration less than 10 minutes")
    pod = {"kind": "Pod", "apiVersion": "v1", "name": "a"}
    stranger = await request_token(call, boundObjectRef=pod)
    assert stranger.status == 400 and "different serviceaccount name" in stranger.message
    assert (await request_token(call, boundObjectRef={**pod, "name": "missing"})).status == 404
    assert (await request_token(call, boundObjectRef={**pod, "kind": "Secret"})).status == 400
    await call.pod("b", spec={"serviceAccountName": "robot"})
    other = await request_token(call, boundObjectRef={**pod, "name": "b", "uid": "other"})
    assert other.status == 409 and "does not match the UID in record" in other.message
    assert (await call.post(f"{ACCOUNTS}/missing/token", {"spec": {}})).status == 404


async def test_a_review_knows_the_servers_own_tokens_and_wants_one() -> None:
    call = caller()
    status = await review(call, "alice-token")
    assert status["user"] == {"username": "alice", "uid": "alice-uid", "groups": ["devs", "system:authenticated"]}
    assert status["audiences"] == ["https://kubernetes.default.svc"]
    empty = await call.post(REVIEWS, {"spec": {"token": ""}})
    assert (empty.status, empty.message) == (400, "token is required for TokenReview in authentication")

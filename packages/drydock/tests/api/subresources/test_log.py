from collections.abc import AsyncIterator

from drydock.virtual.loop import VirtualLoop
from hawser.transport import Request, Response
from packages.drydock.tests.api.caller import PODS, Caller, caller


class Kubelet:
    """Answers with what it was asked."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.asked: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request)

        async def lines() -> AsyncIterator[bytes]:
            yield b"one\n"
            await VirtualLoop.running().clock.sleep(1)
            yield b"two\n"

        return Response(self.status, {"content-type": "text/plain"}, lines())


async def with_pod(kubelet: Kubelet, *containers: str) -> Caller:
    call = caller()
    await call.post("/api/v1/nodes", {"metadata": {"name": "n"}})
    spec = {"containers": [{"name": name, "image": "i"} for name in containers or ("main",)]}
    await call.pod("a", node="n", spec=spec)
    call.api.introduce_kubelet(kubelet, "n")
    return call


async def test_a_log_is_fetched_from_the_kubelet_of_the_node_and_streamed() -> None:
    kubelet = Kubelet()
    call = await with_pod(kubelet)
    response = await call.open("GET", f"{PODS}/a/log?follow=true&tailLines=5&previous=false")
    assert response.headers["content-type"] == "text/plain"
    assert [chunk async for chunk in response] == [b"one\n", b"two\n"]
    (request,) = kubelet.asked
    assert request.path == "/containerLogs/default/a/main"
    assert dict(request.query) == {"follow": "true", "tailLines": "5"}


async def test_the_container_must_be_clear() -> None:
    call = await with_pod(Kubelet(), "main", "side")
    unclear = await call.get(f"{PODS}/a/log")
    assert (unclear.status, unclear.message) == (
        400,
        "a container name must be specified for pod a, choose one of: [main side]",
    )
    assert (await call.get(f"{PODS}/a/log?container=side")).status == 200
    wrong = await call.get(f"{PODS}/a/log?container=other")
    assert (wrong.status, wrong.message) == (400, "container other is not valid for pod a")
    await call.patch(f"{PODS}/a", {"metadata": {"annotations": {"kubectl.kubernetes.io/default-container": "side"}}})
    assert (await call.get(f"{PODS}/a/log")).status == 200


async def test_what_the_kubelet_refuses_is_refused() -> None:
    call = await with_pod(Kubelet(status=404))
    answer = await call.get(f"{PODS}/a/log")
    assert (answer.status, answer.message) == (404, "one\ntwo")


async def test_a_pod_without_a_node_has_no_log_and_one_on_a_lost_node_none_to_get() -> None:
    call = caller()
    await call.pod("a")
    assert (await call.get(f"{PODS}/a/log")).status == 204
    await call.pod("b", node="lost")
    assert (await call.get(f"{PODS}/b/log")).status == 404
    assert (await call.get(f"{PODS}/missing/log")).status == 404


async def test_one_kubelet_can_answer_for_all_nodes() -> None:
    call = caller()
    await call.post("/api/v1/nodes", {"metadata": {"name": "n"}})
    await call.pod("a", node="n")
    call.api.introduce_kubelet(Kubelet())
    assert (await call.get(f"{PODS}/a/log")).raw == b"one\ntwo\n"

from drydock.virtual.loop import VirtualLoop
from packages.drydock.tests.api.caller import PODS, Answer, Caller, caller


async def bind(call: Caller, name: str = "a", node: str = "n", **metadata: object) -> Answer:
    body = {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}
    return await call.post(f"{PODS}/{name}/binding", body)


async def test_a_bound_pod_has_a_node_and_is_scheduled_from_that_moment() -> None:
    call = caller()
    await call.pod("a")
    await VirtualLoop.running().clock.sleep(5)
    answer = await bind(call, annotations={"chosen": "yes"})
    assert (answer.status, answer.body["status"]) == (201, "Success")
    pod = await call.get(f"{PODS}/a")
    assert pod.body["spec"]["nodeName"] == "n" and pod.meta["annotations"] == {"chosen": "yes"}
    (condition,) = [one for one in pod.body["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert (condition["status"], condition["lastTransitionTime"]) == ("True", "2026-03-01T12:00:05Z")


async def test_a_pod_is_bound_once() -> None:
    call = caller()
    await call.pod("a")
    await bind(call)
    answer = await bind(call, node="m")
    assert (answer.status, answer.message) == (
        409,
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"',
    )


async def test_a_pod_that_is_going_and_another_of_its_name_are_not_bound() -> None:
    call = caller()
    await call.pod("a", finalizers=["tests.dev/hold"])
    assert (await bind(call, uid="other")).status == 409
    await call.delete(f"{PODS}/a")
    answer = await bind(call)
    assert answer.status == 409 and "pod a is being deleted, cannot be assigned to a host" in answer.message


async def test_a_binding_without_a_target_or_a_pod_is_refused() -> None:
    call = caller()
    await call.pod("a")
    answer = await call.post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node"}})
    assert (answer.status, answer.message) == (500, "target.name: Required value")
    assert (await bind(call, "missing")).status == 404


async def test_a_binding_can_be_made_at_its_old_address_and_as_a_dry_run() -> None:
    call = caller()
    await call.pod("a")
    body = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
    assert (await call.post(f"{PODS}/a/binding?dryRun=All", body)).status == 201
    assert "nodeName" not in (await call.get(f"{PODS}/a")).body["spec"]
    assert (await call.post("/api/v1/namespaces/default/bindings", body)).status == 201
    assert (await call.get(f"{PODS}/a")).body["spec"]["nodeName"] == "n"

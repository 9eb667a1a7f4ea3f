"""The endpoints of a Service, as tables."""

from typing import Any

from drydock.actors.upkeep.endpoints import plan_slices
from packages.drydock.tests.actors.shapes import a_pod

Object = dict[str, Any]


def serving(name: str, ip: str = "10.0.0.1", port: int = 8080, **kwargs: Any) -> Object:
    pod = a_pod(name, **kwargs)
    pod["status"]["podIP"] = ip
    pod["spec"]["containers"] = [{"name": "main", "ports": [{"name": "http", "containerPort": port}]}]
    return pod


def a_service(**spec: Any) -> Object:
    ports = [{"name": "web", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    return {"metadata": {"name": "s", "namespace": "default", "uid": "s"}, "spec": {"ports": ports, **spec}}


def test_an_endpoint_tells_where_a_pod_is_and_how_it_is() -> None:
    pods = [serving("up"), serving("down", ready=False), serving("going", terminating=True), a_pod("no-address")]
    [plan] = plan_slices(a_service(), pods, {"a": "zone-1"}, [])
    assert plan.ports == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    told = {one["targetRef"]["name"]: one["conditions"] for one in plan.endpoints}
    assert told == {
        "up": {"ready": True, "serving": True, "terminating": False},
        "down": {"ready": False, "serving": False, "terminating": False},
        "going": {"ready": False, "serving": True, "terminating": True},
    }
    assert plan.endpoints[0] == {
        "addresses": ["10.0.0.1"],
        "conditions": told["up"],
        "targetRef": {"kind": "Pod", "namespace": "default", "name": "up", "uid": "uid-up"},
        "nodeName": "a",
        "zone": "zone-1",
    }


def test_a_service_that_publishes_everything_calls_everything_ready() -> None:
    [plan] = plan_slices(a_service(publishNotReadyAddresses=True), [serving("down", ready=False)], {}, [])
    assert plan.endpoints[0]["conditions"]["ready"]


def test_pods_whose_named_port_differs_are_in_slices_of_their_own() -> None:
    plans = plan_slices(a_service(), [serving("p"), serving("q", port=9090)], {}, [])
    assert [plan.ports[0]["port"] for plan in plans] == [8080, 9090]


def test_one_pod_more_or_less_changes_one_slice() -> None:
    pods = [serving(f"p{number:03}", ip=f"10.0.0.{number}") for number in range(150)]
    first = plan_slices(a_service(), pods, {}, [])
    assert [len(plan.endpoints) for plan in first] == [100, 50]
    current = [
        {"metadata": {"name": str(place), "uid": str(place)}, "ports": plan.ports, "endpoints": plan.endpoints}
        for place, plan in enumerate(first)
    ]
    later = plan_slices(a_service(), [*pods[1:], serving("new")], {}, current)
    assert [len(plan.endpoints) for plan in later] == [100, 50]
    assert later[1].endpoints == first[1].endpoints
    assert [one["targetRef"]["name"] for one in later[0].endpoints][-1] == "new"


def test_a_service_without_pods_has_one_empty_slice() -> None:
    [plan] = plan_slices(a_service(), [], {}, [])
    assert (plan.ports, plan.endpoints, plan.current) == ((), [], None)

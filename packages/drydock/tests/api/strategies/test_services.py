"""What a service gets without asking."""

import ipaddress
from datetime import UTC, datetime
from typing import Any

from drydock.api.kinds.kind import Context
from drydock.api.patch.json_patch import copy_json
from drydock.api.strategies.services import NODE_PORTS, SERVICE_NETWORK, ServiceStrategy

STRATEGY = ServiceStrategy()
CONTEXT = Context(datetime(2026, 3, 1, tzinfo=UTC), lambda: "uid", lambda *place: None)


def created(name: str, **spec: Any) -> dict[str, Any]:
    service = {"metadata": {"name": name, "namespace": "default"}, "spec": {"ports": [{"port": 80}], **spec}}
    STRATEGY.prepare_create(service, CONTEXT)
    assert STRATEGY.validate_create(service, CONTEXT) == []
    return service


def test_an_address_comes_from_the_service_network_and_is_the_same_for_the_same_name() -> None:
    addresses = [created(f"service-{number}")["spec"]["clusterIP"] for number in range(200)]
    assert all(ipaddress.ip_address(address) in SERVICE_NETWORK for address in addresses)
    assert len(set(addresses)) == len(addresses)
    assert created("service-7")["spec"]["clusterIP"] == addresses[7]


def test_an_address_that_was_chosen_is_kept() -> None:
    spec = created("chosen", clusterIP="10.96.0.10")["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("10.96.0.10", ["10.96.0.10"])


def test_ports_on_nodes_are_given_once_and_survive_an_update_that_leaves_them_out() -> None:
    old = created("n", type="NodePort", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}])
    given = [port["nodePort"] for port in old["spec"]["ports"]]
    assert len(set(given)) == 2 and all(port in NODE_PORTS for port in given)
    new = copy_json(old)
    new["spec"]["ports"] = [{"name": "b", "port": 81, "protocol": "TCP"}]
    del new["spec"]["clusterIP"], new["spec"]["clusterIPs"]
    STRATEGY.prepare_update(new, old, "", CONTEXT)
    assert [port["nodePort"] for port in new["spec"]["ports"]] == given[1:]
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    assert STRATEGY.validate_update(new, old, "", CONTEXT) == []

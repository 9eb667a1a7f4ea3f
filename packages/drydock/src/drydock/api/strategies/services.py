"""Services: ports, cluster addresses, and what follows from their type."""

import hashlib
import ipaddress
from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import duplicate, forbidden, invalid, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object
from drydock.api.objects.metadata import wrong_labels
from drydock.api.objects.names import dns_label, dns_subdomain
from drydock.api.strategies.probes import wrong_port
from drydock.api.strategies.split import SplitStrategy

SERVICE_NETWORK = ipaddress.IPv4Network("10.96.0.0/12")
NODE_PORTS = range(30000, 32768)
_RESERVED_ADDRESSES = 256  # the first ones are for addresses that people choose
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_AFFINITIES = ("ClientIP", "None")
_AFFINITY_SECONDS = 10800
_HEADLESS = "None"


class ServiceStrategy(SplitStrategy):
    def defaults(self, new: Object) -> None:
        spec = new.setdefault("spec", {})
        spec["type"] = spec.get("type") or "ClusterIP"
        spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
        if spec["sessionAffinity"] == "ClientIP":
            client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
            client.setdefault("timeoutSeconds", _AFFINITY_SECONDS)
        else:
            spec.pop("sessionAffinityConfig", None)
        for port in spec.get("ports") or ():
            port["protocol"] = port.get("protocol") or "TCP"
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        if spec["type"] != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec["type"] in _WITH_NODE_PORTS or spec.get("externalIPs"):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if spec["type"] == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)

    def on_create(self, new: Object, context: Context) -> None:
        self._allocate(new)

    def initial_status(self, new: Object, context: Context) -> Object:
        return {"loadBalancer": {}}

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        super().prepare_update(new, old, subresource, context)
        if subresource:
            return
        spec, before = new["spec"], old["spec"]
        if spec["type"] != "ExternalName":
            _keep_unsent(spec, before)
        self._allocate(new)

    def wrong(self, new: Object) -> Iterator[Cause]:
        spec = new["spec"]
        headless = spec.get("clusterIP") == _HEADLESS
        if not spec.get("ports") and not headless and spec["type"] != "ExternalName":
            yield required("spec.ports")
        if headless and spec["type"] in _WITH_NODE_PORTS:
            yield invalid("spec.clusterIPs[0]", _HEADLESS, f"may not be set to 'None' for {spec['type']} services")
        if spec["type"] == "ExternalName":
            yield from _wrong_external_name(spec)
        yield from _wrong_ports("spec.ports", spec.get("ports") or [])
        yield from wrong_labels("spec.selector", spec.get("selector"))
        if spec["sessionAffinity"] not in _AFFINITIES:
            yield not_supported("spec.sessionAffinity", spec["sessionAffinity"], _AFFINITIES)
        yield from _wrong_address(spec)
        if spec["type"] not in _TYPES:
            yield not_supported("spec.type", spec["type"], _TYPES)
        if spec["type"] == "ClusterIP":
            for index, port in enumerate(spec.get("ports") or ()):
                if port.get("nodePort"):
                    yield forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
        yield from _repeated_ports("spec.ports", spec.get("ports") or [])

    def wrong_update(self, new: Object, old: Object) -> Iterator[Cause]:
        address, before = new["spec"].get("clusterIP"), old["spec"].get("clusterIP")
        if before and address != before and new["spec"]["type"] != "ExternalName":
            yield invalid("spec.clusterIPs[0]", [address] if address else None, "may not change once set")

    def _allocate(self, service: Object) -> None:
        """Give the service what it needs and did not ask for: an address, and ports on every node."""
        spec = service["spec"]
        if spec["type"] == "ExternalName":
            return
        if not spec.get("clusterIP"):
            spec["clusterIP"] = (spec.get("clusterIPs") or [_address_of(service)])[0]
        spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        if spec["type"] in _WITH_NODE_PORTS:
            for index, port in enumerate(spec.get("ports") or ()):
                port["nodePort"] = port.get("nodePort") or _node_port_of(service, index)


def _keep_unsent(spec: dict[str, Any], before: dict[str, Any]) -> None:
    """What was allocated stays when the client does not send it back."""
    for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if not spec.get(name) and before.get(name):
            spec[name] = before[name]
    taken = {(port.get("protocol"), port.get("port")): port.get("nodePort") for port in before.get("ports") or ()}
    if spec["type"] in _WITH_NODE_PORTS:
        for port in spec.get("ports") or ():
            if not port.get("nodePort") and (number := taken.get((port.get("protocol"), port.get("port")))):
                port["nodePort"] = number


def _address_of(service: Object) -> str:
    """The same for the same name: a service that is made again is found at its old address."""
    free = SERVICE_NETWORK.num_addresses - _RESERVED_ADDRESSES - 1
    return str(SERVICE_NETWORK[_RESERVED_ADDRESSES + _number_of(service) % free])


def _node_port_of(service: Object, index: int) -> int:
    return NODE_PORTS[(_number_of(service) + index) % len(NODE_PORTS)]


def _number_of(service: Object) -> int:
    metadata = service["metadata"]
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])


def _wrong_external_name(spec: dict[str, Any]) -> Iterator[Cause]:
    for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(name) or (name == "clusterIPs" and spec.get("clusterIP")):
            yield forbidden(f"spec.{name}", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
    else:
        yield from (invalid("spec.externalName", name, told) for told in dns_subdomain(name))


def _wrong_ports(path: str, ports: list[dict[str, Any]]) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"{path}[{index}]", port.get("name") or ""
        if not name and len(ports) > 1:
            yield required(f"{here}.name")
        elif name:
            yield from (invalid(f"{here}.name", name, told) for told in dns_label(name))
            if name in names:
                yield duplicate(f"{here}.name", name)
            names.add(name)
        yield from wrong_port(f"{here}.port", port.get("port", 0))
        if port["protocol"] not in _PROTOCOLS:
            yield not_supported(f"{here}.protocol", port["protocol"], _PROTOCOLS)
        yield from wrong_port(f"{here}.targetPort", port["targetPort"])


def _repeated_ports(path: str, ports: list[dict[str, Any]]) -> Iterator[Cause]:
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port["protocol"], port.get("port", 0))
        if key in seen:
            go_struct = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield duplicate(f"{path}[{index}]", go_struct)
        seen.add(key)


def _wrong_address(spec: dict[str, Any]) -> Iterator[Cause]:
    address = spec.get("clusterIP")
    if not address or address == _HEADLESS or spec["type"] == "ExternalName":
        return
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        yield invalid("spec.clusterIPs[0]", address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
        return
    if parsed not in SERVICE_NETWORK:
        told = f"failed to allocate IP {address}: the provided network does not match the current range"
        yield invalid("spec.clusterIPs", [address], told)

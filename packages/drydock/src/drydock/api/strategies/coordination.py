"""Leases and EndpointSlices: who leads, and who answers for a service."""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any

from drydock.api.answers.causes import duplicate, forbidden, immutable, invalid, not_supported, required, too_many
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object, PlainStrategy
from drydock.api.objects.names import dns_label, dns_subdomain

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MOST_ENDPOINTS = 1000
_MOST_ADDRESSES = 100
_NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


class LeaseStrategy(PlainStrategy):
    def prepare_create(self, new: Object, context: Context) -> None:
        new.setdefault("spec", {})

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        new.setdefault("spec", {})

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return list(_wrong_lease(new["spec"]))

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        return list(_wrong_lease(new["spec"]))


class EndpointSliceStrategy(PlainStrategy):
    def prepare_create(self, new: Object, context: Context) -> None:
        new["endpoints"] = new.get("endpoints") or None  # Go lists without omitempty
        new["ports"] = new.get("ports") or None
        for port in new["ports"] or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")
        for endpoint in new["endpoints"] or ():
            endpoint.setdefault("conditions", {})
        new["metadata"]["generation"] = 1

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        generation = old["metadata"].get("generation", 1)
        self.prepare_create(new, context)
        changed = any(new.get(name) != old.get(name) for name in ("endpoints", "ports", "addressType"))
        changed = changed or new["metadata"].get("labels") != old["metadata"].get("labels")
        new["metadata"]["generation"] = generation + 1 if changed else generation

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return list(_wrong_slice(new))

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        wrong = list(_wrong_slice(new, endpoints_changed=new.get("endpoints") != old.get("endpoints")))
        if new.get("addressType") != old.get("addressType"):
            wrong.append(immutable("addressType", new.get("addressType")))
        return wrong


def _wrong_lease(spec: dict[str, Any]) -> Iterator[Cause]:
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
    if spec.get("preferredHolder") and not spec.get("strategy"):
        yield forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def _wrong_slice(endpoint_slice: Object, *, endpoints_changed: bool = True) -> Iterator[Cause]:
    kind = endpoint_slice.get("addressType") or ""
    if not kind:
        yield required("addressType")
    elif kind not in _ADDRESS_TYPES:
        yield not_supported("addressType", kind, _ADDRESS_TYPES)
    yield from _wrong_ports(endpoint_slice.get("ports") or [])
    endpoints = endpoint_slice.get("endpoints") or [] if endpoints_changed else []
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        yield from _wrong_endpoint(f"endpoints[{index}]", endpoint, kind)


def _wrong_endpoint(path: str, endpoint: dict[str, Any], kind: str) -> Iterator[Cause]:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        yield too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
    if kind in ("IPv4", "IPv6"):
        for index, address in enumerate(addresses):
            yield from _wrong_address(f"{path}.addresses", index, address, int(kind[-1]))
    if node := endpoint.get("nodeName"):
        yield from (invalid(f"{path}.nodeName", node, told) for told in dns_subdomain(node))
    if host := endpoint.get("hostname"):
        yield from (invalid(f"{path}.hostname", host, told) for told in dns_label(host))


def _wrong_address(path: str, index: int, address: str, version: int) -> Iterator[Cause]:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        yield invalid(f"{path}[{index}]", address, _NOT_AN_ADDRESS)
        return
    if parsed.version != version:
        yield invalid(path, address, f"must be an IPv{version} address")
    # kube-apiserver refuses loopback addresses here; pods as local processes live on them.
    if parsed.is_unspecified:
        yield invalid(f"{path}[{index}]", address, f"may not be unspecified ({parsed})")


def _wrong_ports(ports: list[dict[str, Any]]) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        name = port["name"]
        if name:
            yield from (invalid(f"ports[{index}].name", name, told) for told in dns_label(name))
        if name in names:
            yield duplicate(f"ports[{index}].name", name)
        names.add(name)
        if port["protocol"] not in _PROTOCOLS:
            yield not_supported(f"ports[{index}].protocol", port["protocol"], _PROTOCOLS)

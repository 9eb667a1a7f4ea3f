"""The content of the page that deploys or updates a service: its manifest, and what it would change."""

import msgspec
import yaml

from mooring.dashboard.manifests import DEFAULT_NAMESPACE, name_in, parse_manifest
from mooring.model import names
from mooring.model.service import ServiceSpec
from mooring.model.service_order import KIND, ServiceOrder, read_order
from mooring.planning.services.change import ServiceChange
from mooring.queries.services import ServiceReading

EXAMPLE = f"""apiVersion: {names.API_VERSION}
kind: {KIND}
metadata:
  name: search
  namespace: {DEFAULT_NAMESPACE}
spec:
  image: registry.example/search:7
  port: 8080
"""


class OrderPage(msgspec.Struct, frozen=True):
    """The manifest as it was written, and its preview or its problems."""

    manifest: str
    subject: str = ""  # namespace/name
    change: ServiceChange | None = None
    problems: tuple[str, ...] = ()
    fix: str = ""


def print_manifest(service: ServiceReading) -> str:
    """The manifest of a service, without fields that have their default."""
    plain = {field.encode_name: field for field in msgspec.structs.fields(ServiceSpec)}
    unset = ServiceSpec()
    spec = {
        name: value
        for name, value in msgspec.to_builtins(service.spec).items()
        if getattr(service.spec, plain[name].name) != getattr(unset, plain[name].name)
    }
    metadata = {"name": service.name, "namespace": service.namespace, "uid": service.uid}
    body = {"apiVersion": names.API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}
    return str(yaml.safe_dump(body, sort_keys=False))


def parse_order(manifest: str) -> ServiceOrder:
    """The order in a manifest; `InvalidInput` says what is wrong with it."""
    body = parse_manifest(manifest, KIND)
    namespace, name = name_in(body, "service")
    return read_order(namespace, name, body)

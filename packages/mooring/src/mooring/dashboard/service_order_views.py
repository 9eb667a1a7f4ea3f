"""The content of the page that deploys or updates a service: its manifest, and what it would change."""

from typing import Any

import msgspec
import yaml

from mooring.model import names
from mooring.model.errors import InvalidInput
from mooring.model.service import ServiceSpec
from mooring.model.service_order import KIND, ServiceOrder, read_order
from mooring.planning.services.change import ServiceChange
from mooring.queries.services import ServiceReading

DEFAULT_NAMESPACE = "default"
DEEPEST = 64  # levels of a manifest; the pod template of a service has about 12
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
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
    body = _parse(manifest)
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, namespace = metadata.get("name"), metadata.get("namespace") or DEFAULT_NAMESPACE
    if not isinstance(name, str) or not isinstance(namespace, str):
        raise InvalidInput("metadata.name", name, "the name of the service")
    return read_order(namespace, name, body)


def _parse(text: str) -> dict[str, Any]:
    """One object in YAML or JSON, in time that is proportional to its length."""
    try:
        _check_tokens(text)
        found = yaml.load(text, _LOADER)
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidInput("manifest", "this text", f"one object in YAML or JSON ({error})") from error
    if not isinstance(found, dict):
        raise InvalidInput("manifest", found, f"a {KIND} in YAML or JSON")
    plain: dict[str, Any] = msgspec.to_builtins(found)  # YAML has dates, JSON has not
    return plain


def _check_tokens(text: str) -> None:
    """Refuse aliases, of which a few stand for a document of any size, and depths that take forever to parse."""
    depth = 0
    for token in yaml.scan(text, _LOADER):
        if isinstance(token, yaml.AliasToken):
            raise InvalidInput("manifest", "an alias (*name)", "written out: aliases are not read")
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > DEEPEST:
            raise InvalidInput("manifest", f"more than {DEEPEST} levels", f"at most {DEEPEST} levels deep")

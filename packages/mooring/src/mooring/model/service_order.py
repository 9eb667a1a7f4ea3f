"""A request to create or change a service, read from the fields of a spec or from a whole manifest."""

import msgspec

from mooring.model.manifest_order import Json, OrderMetadata, check_place, open_manifest, read_spec, require_none
from mooring.model.pod_template import check_keys
from mooring.model.service import Service, ServiceSpec, check_service

KIND = "ManagedService"
# Written by kubectl; it describes what kubectl applied, not what is sent here.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class ServiceOrder(msgspec.Struct, frozen=True):
    """A valid order. `body` is the spec as it was sent: a field that is left out gets its default."""

    namespace: str
    name: str
    spec: ServiceSpec
    body: Json
    metadata: OrderMetadata = OrderMetadata()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def read_order(namespace: str, name: str, sent: object) -> ServiceOrder:
    """The order, or `InvalidInput` for its first problem; `detail.problems` has all of them."""
    metadata, body = open_manifest(sent, KIND)
    spec, problems = read_spec(body, ServiceSpec, lambda spec: check_service(Service(namespace, name, "", 0, spec)))
    marks = [
        *check_keys("metadata.labels", metadata.labels),
        *check_keys("metadata.annotations", metadata.annotations),
    ]
    require_none([*check_place(namespace, name, metadata), *marks, *problems])
    return ServiceOrder(namespace, name, spec, body, metadata)


def annotations_to_write(metadata: OrderMetadata) -> dict[str, str]:
    """The annotations of the order without that of kubectl."""
    return {key: value for key, value in metadata.annotations.items() if key != _LAST_APPLIED}

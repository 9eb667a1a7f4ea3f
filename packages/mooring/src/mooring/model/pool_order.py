"""A request to create or change a pool, read from a manifest or from the fields of a form."""

import msgspec

from mooring.model import command_checks
from mooring.model.manifest_order import Json, check_place, open_manifest, read_spec, require_none
from mooring.model.pool import PoolSpec, check_spec

KIND = "WorkerPool"


class PoolOrder(msgspec.Struct, frozen=True):
    """A valid order. `body` is the spec as it was sent: a field that is left out gets its default."""

    namespace: str
    name: str
    spec: PoolSpec
    body: Json
    uid: str = ""  # if it is given, only the pool with this uid is changed

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def read_pool_order(namespace: str, name: str, sent: object) -> PoolOrder:
    """The order, or `InvalidInput` for its first problem; `detail.problems` has all of them."""
    metadata, body = open_manifest(sent, KIND)
    spec, problems = read_spec(body, PoolSpec, check_spec)
    name_problems = command_checks.check_name("metadata.name", name)
    require_none([*check_place(namespace, name, metadata), *name_problems, *problems])
    return PoolOrder(namespace, name, spec, body, metadata.uid)

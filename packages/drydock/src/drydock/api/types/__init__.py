"""The shapes of the built-in kinds, one module for each part of the API, in the notation of `notation.py`.

Must not know: what is done with a shape.
"""

from itertools import chain
from typing import Protocol

from drydock.api.types import (
    admissionregistration,
    apiextensions,
    apiregistration,
    apps,
    authentication,
    authorization,
    autoscaling,
    batch,
    coordination,
    core_config,
    core_containers,
    core_nodes,
    core_pods,
    core_services,
    core_storage,
    core_volumes,
    discovery,
    events,
    meta,
    node,
    policy,
    rbac,
    scheduling,
    storage,
)
from drydock.api.types.notation import Library, parse


class _Part(Protocol):
    PACKAGE: str
    SHAPES: str


_PARTS: tuple[_Part, ...] = (
    meta,
    admissionregistration,
    core_pods,
    core_containers,
    core_volumes,
    core_nodes,
    core_services,
    core_config,
    core_storage,
    apps,
    batch,
    policy,
    autoscaling,
    coordination,
    discovery,
    events,
    rbac,
    authentication,
    authorization,
    apiextensions,
    scheduling,
    storage,
    node,
    apiregistration,
)

LIBRARY = Library(chain.from_iterable(parse(part.PACKAGE, part.SHAPES) for part in _PARTS))

"""The read side of Warmups: what api, pages and terminal may know, and where each dataset is warm."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from mooring.control.fleet import Fleet
from mooring.control.warming.watch import WarmupWatch
from mooring.model.errors import NotFound
from mooring.model.spelling import suggest
from mooring.model.warmup import Warmup, WarmupSpec, WarmupStatus
from mooring.model.why import Why
from mooring.planning.warmups.warmth import warm_nodes
from mooring.planning.whys.warmups import explain_warmup


class WarmupReading(msgspec.Struct, frozen=True, rename="camel"):
    """A Warmup of the contract. `rewarmPending` is a forced re-warm that has not fired yet."""

    namespace: str
    name: str
    uid: str
    spec: WarmupSpec
    status: WarmupStatus
    generation: int
    terminating: bool
    created_at: datetime
    warm_nodes: tuple[str, ...]
    rewarm_pending: bool
    why: Why


class WarmupReadSide:
    """Answers questions from caches; changes nothing."""

    def __init__(self, watch: WarmupWatch, fleet: Fleet) -> None:
        self._watch = watch
        self._fleet = fleet

    def warmups(self) -> list[WarmupReading]:
        """All Warmups, by namespace and name."""
        return [self._read(warmup) for _, warmup in sorted(self._watch.warmups.items())]

    def warmup(self, namespace: str, name: str) -> WarmupReading:
        """One Warmup, or `NotFound`."""
        return self._read(find_warmup(self._watch, namespace, name))

    def warm_nodes(self, namespace: str, name: str) -> tuple[str, ...] | None:
        """The nodes on which a Warmup is warm now, by name; None when there is no such Warmup."""
        warmup = self._watch.warmups.get(f"{namespace}/{name}")
        return warm_nodes(warmup.status, self._fleet.nodes) if warmup is not None else None

    def _read(self, warmup: Warmup) -> WarmupReading:
        return WarmupReading(
            namespace=warmup.namespace,
            name=warmup.name,
            uid=warmup.uid,
            spec=warmup.spec,
            status=warmup.status,
            generation=warmup.generation,
            terminating=warmup.terminating,
            created_at=warmup.created_at,
            warm_nodes=warm_nodes(warmup.status, self._fleet.nodes),
            rewarm_pending=bool(warmup.rewarm_wish),
            why=explain_warmup(warmup),
        )


def find_warmup(watch: WarmupWatch, namespace: str, name: str) -> Warmup:
    """One Warmup as cached, or `NotFound` naming those that exist."""
    known: Mapping[str, Warmup] = watch.warmups
    key = f"{namespace}/{name}"
    warmup = known.get(key)
    if warmup is None:
        raise NotFound(f"there is no warmup {key}", fix=suggest(key, known, "warmups"))
    return warmup

"""The content of the warmups page: a card for each dataset, with its shards in a grid of nodes."""

from collections.abc import Sequence

import msgspec

from mooring.dashboard.views import Fragments, May, Selection, render
from mooring.queries.warmups import WarmupQueries, WarmupReading

PHASES = ("Pending", "Warming", "Ready", "Stale", "Failed")


class WarmupsPage(msgspec.Struct, frozen=True):
    """The warmups that match, and the total."""

    warmups: Sequence[WarmupReading]
    total: int


def read_warmups(warmups: WarmupQueries, selection: Selection) -> WarmupsPage:
    """All Warmups, sorted by namespace and name."""
    everything = warmups.warmups()
    return WarmupsPage([one for one in everything if _matches(one, selection)], len(everything))


def _matches(warmup: WarmupReading, selection: Selection) -> bool:
    status = warmup.status
    return selection.matches(f"{warmup.namespace}/{warmup.name}", status.phase, warmup.spec.dataset, status.reason)


async def warmups_fragments(warmups: WarmupQueries, selection: Selection, may: May) -> Fragments:
    """The live part of the page."""
    return {"warmups": render("_warmups.html", page=read_warmups(warmups, selection), selection=selection, may=may)}

"""The content of the page of one pool: verdict, charts, and tabs for workers, queue, owners, events and YAML."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
import yaml
from markupsafe import Markup

from mooring.dashboard.charts import (
    STATES,
    Chart,
    describe_seconds,
    draw_capacity,
    draw_queue,
    draw_waits,
    draw_workers,
)
from mooring.dashboard.reader import Reader
from mooring.dashboard.views import Fragments, Selection, render
from mooring.model import names
from mooring.model.errors import MooringError, NotFound, Unavailable
from mooring.model.pool import PoolSpec
from mooring.queries.fleet import PoolReading
from mooring.queries.pods import EventReading
from mooring.queries.pool_detail import PoolDetail, read_pool
from mooring.queries.pool_history import ClaimTotals
from mooring.queries.readings import Readings

RANGES: Mapping[str, int] = MappingProxyType(
    {"15m": 900, "1h": 3600, "6h": 21_600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000}
)
USUAL_RANGE = "1h"
TABS = ("workers", "queue", "owners", "events", "yaml")
PARTS = ("pool-standing", "pool-charts", "pool-tab")


class PoolPage(msgspec.Struct, frozen=True):
    """The content of the page."""

    detail: PoolDetail
    cause: str  # in one sentence
    capacity: Markup
    charts: tuple[Chart, ...]
    total: ClaimTotals | None
    range: str
    tab: str
    events: list[EventReading] | None = None  # None: they cannot be read
    manifest: str = ""


async def read_pool_page(readings: Readings, selection: Selection, reader: Reader) -> PoolPage:
    """The pool that the selection is about; `NotFound` without it."""
    namespace, _, name = selection.subject.partition("/")
    detail = await read_pool(readings, namespace, name, readings.inspection.clock.now())
    pool = detail.pool
    tab = selection.tab if selection.tab in TABS else TABS[0]
    shown_range = selection.range if selection.range in RANGES else USUAL_RANGE
    charts, total = await _charts(readings, pool, RANGES[shown_range])
    counts = {state: int(getattr(pool.status, state)) for state in STATES}
    label = f"{pool.status.replicas} workers; floor {pool.floor}, at most {pool.spec.max}"
    return PoolPage(
        detail=detail,
        cause=await _cause(readings, pool, reader),
        capacity=draw_capacity(counts, pool.floor, pool.spec.max, label),
        charts=charts,
        total=total,
        range=shown_range,
        tab=tab,
        events=await _events(readings, detail) if tab == "events" else [],
        manifest=print_pool(pool) if tab == "yaml" else "",
    )


async def _cause(readings: Readings, pool: PoolReading, reader: Reader) -> str:
    """With the last line of the worker that fails, for those who may read logs."""
    verdict = pool.verdict
    if not verdict.worker or verdict.state == "ok" or not reader.may("logs", pool.namespace):
        return verdict.cause
    words = await readings.explainer.last_words(*verdict.worker.split("/", 1))
    return f"{verdict.cause}: {words}" if words else verdict.cause


async def _charts(
    readings: Readings, pool: PoolReading, range_seconds: int
) -> tuple[tuple[Chart, ...], ClaimTotals | None]:
    try:
        history = await readings.history.charted(pool.namespace, pool.name, range_seconds)
    except Unavailable:
        return (), None
    return (draw_workers(history), draw_waits(history), draw_queue(history)), history.total


async def _events(readings: Readings, detail: PoolDetail) -> list[EventReading] | None:
    """About the pool and its workers."""
    pool = detail.pool
    workers = {worker.name for worker in detail.workers}

    def concerns(kind: str, name: str) -> bool:
        return (kind, name) == ("WorkerPool", pool.name) or (kind == "Pod" and name in workers)

    try:
        return await readings.pods.events(pool.namespace, concerns)
    except MooringError:
        return None


def print_pool(pool: PoolReading) -> str:
    """The manifest of a pool, without fields that have their default."""
    unset = msgspec.to_builtins(PoolSpec())
    spec = {
        name: value
        for name, value in msgspec.to_builtins(pool.spec).items()
        if value != unset.get(name) or name == "warm"
    }
    metadata = {"name": pool.name, "namespace": pool.namespace}
    body = {"apiVersion": names.API_VERSION, "kind": "WorkerPool", "metadata": metadata, "spec": spec}
    return str(yaml.safe_dump(body, sort_keys=False))


def pool_values(page: PoolPage, selection: Selection, reader: Reader) -> dict[str, object]:
    """What the templates of the page need."""
    return {
        "page": page,
        "detail": page.detail,
        "pool": page.detail.pool,
        "selection": selection,
        "may": reader.may,
        "ranges": RANGES,
        "tabs": TABS,
        "describe_seconds": describe_seconds,
    }


async def pool_fragments(readings: Readings, selection: Selection, reader: Reader) -> Fragments:
    """The live parts of the page."""
    try:
        page = await read_pool_page(readings, selection, reader)
    except NotFound:
        name = selection.subject.partition("/")[2]
        hidden = {part: render("_hidden.html", part=part) for part in PARTS}
        gone = render("_gone.html", part=PARTS[0], kind="pool", subject=selection.subject, name=name)
        return hidden | {PARTS[0]: gone}
    values = pool_values(page, selection, reader)
    return {part: render(f"_{part.replace('-', '_')}.html", **values) for part in PARTS}

"""The content of the fleet page: the map of nodes, or its table, and one row for each pool, sick ones first."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from markupsafe import Markup

from mooring.dashboard.charts import STATES, draw_capacity, draw_sparkline
from mooring.dashboard.reader import Reader
from mooring.dashboard.tiles import Palette, plan_palette, plan_tiles, render_tile
from mooring.dashboard.views import Fragments, Selection, render
from mooring.model.pool_history import Sample
from mooring.queries.fleet import FleetQueries, PoolReading, WorkerReading
from mooring.queries.nodes import NodeReading
from mooring.queries.pool_history import RECENT_SECONDS
from mooring.queries.readings import Readings

_WORST_FIRST = ("broken", "waiting", "unknown", "ok")


class PoolRow(msgspec.Struct, frozen=True):
    """A pool with its bar and its line."""

    pool: PoolReading
    capacity: Markup
    sparkline: Markup


class FleetPage(msgspec.Struct, frozen=True):
    """The content of the fleet page."""

    rows: Sequence[PoolRow]
    pools: Sequence[str]  # the keys of all of them
    workers: Sequence[WorkerReading]
    total: int
    tiles: Mapping[str, str]
    palette: Palette


async def read_fleet(readings: Readings, selection: Selection, now: datetime) -> FleetPage:
    """The workers that match, their nodes, and the pools."""
    fleet = readings.fleet
    everyone = await fleet.workers()
    matching = [worker for worker in everyone if _matches(worker, selection)]
    nodes = [node for node in fleet.nodes_of(everyone) if selection.node in ("", node.name)]
    palette = plan_palette(everyone, selection.colour)
    tiles = {tile.id: render_tile(tile, palette, selection.colour) for tile in plan_tiles(nodes, matching)}
    pools = fleet.pools()
    recent = await readings.history.recent()
    shown = [pool for pool in pools if selection.verdict in ("", pool.verdict.state)]
    rows = [_row(pool, recent.get(f"{pool.namespace}/{pool.name}", []), now) for pool in sort_pools(shown)]
    keys = [f"{pool.namespace}/{pool.name}" for pool in pools]
    return FleetPage(rows, keys, matching, len(everyone), tiles, palette)


def sort_pools(pools: Sequence[PoolReading]) -> list[PoolReading]:
    """Broken ones first, then those on their way; equals by name."""
    return sorted(pools, key=lambda pool: (_WORST_FIRST.index(pool.verdict.state), pool.namespace, pool.name))


def _row(pool: PoolReading, samples: list[Sample], now: datetime) -> PoolRow:
    counts = {state: int(getattr(pool.status, state)) for state in STATES}
    words = ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no workers"
    label = f"{words}; floor {pool.floor}, at most {pool.spec.max}"
    return PoolRow(
        pool,
        draw_capacity(counts, pool.floor, pool.spec.max, label),
        draw_sparkline(samples, now, RECENT_SECONDS),
    )


async def read_workers(fleet: FleetQueries, selection: Selection) -> list[WorkerReading]:
    """The workers that match."""
    return [worker for worker in await fleet.workers() if _matches(worker, selection)]


async def read_nodes(fleet: FleetQueries, selection: Selection) -> list[NodeReading]:
    """All nodes, or the selected one."""
    return [node for node in await fleet.nodes() if selection.node in ("", node.name)]


async def read_tile(fleet: FleetQueries, selection: Selection) -> Sequence[WorkerReading]:
    """The workers of one tile, in the order of its cells."""
    everyone = await fleet.workers()
    matching = [one for one in everyone if _matches(one, msgspec.structs.replace(selection, node=""))]
    tiles = plan_tiles(fleet.nodes_of(everyone), matching)
    return next((tile.workers for tile in tiles if tile.node == selection.node), ())


def _matches(worker: WorkerReading, selection: Selection) -> bool:
    return (
        (not selection.pool or f"{worker.namespace}/{worker.pool}" == selection.pool)
        and (not selection.node or worker.node == selection.node)
        and (not selection.state or worker.state == selection.state)
        and (not selection.q or selection.q.lower() in _text(worker))
    )


def _text(worker: WorkerReading) -> str:
    return f"{worker.namespace}/{worker.name} {worker.node} {worker.owner} {worker.reason}".lower()


async def fleet_fragments(readings: Readings, selection: Selection, reader: Reader) -> Fragments:
    """The live parts of the fleet page. The grid itself is sent only if tiles appear or disappear."""
    page = await read_fleet(readings, selection, readings.inspection.clock.now())
    fragments = {"pools": render("_pools.html", page=page, selection=selection, may=reader.may)}
    if selection.view == "table":
        fragments["workers"] = render("_workers.html", page=page, selection=selection)
    else:
        fragments["summary"] = render("_summary.html", page=page, selection=selection)
        fragments.update(page.tiles)
    return fragments

"""One tile for each node, with its workers as cells.

Written without a template, because a fleet has thousands of cells.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from urllib.parse import quote

import msgspec

from mooring.dashboard.shapes import CELL, COLUMNS, SHAPES, path_of, rows_needed
from mooring.queries.fleet import WorkerReading
from mooring.queries.nodes import NodeLoad, NodeReading

UNPLACED = ""
COLOURS = 8
GIB = 1024**3
FULL = 0.9  # from this part on a bar warns


class Tile(msgspec.Struct, frozen=True):
    """The content of one box of the map."""

    node: str
    title: str
    note: str
    kind: str  # open, draining, quarantined, notready, system, unplaced
    workers: tuple[WorkerReading, ...]
    load: NodeLoad = NodeLoad()

    @property
    def id(self) -> str:
        return f"tile-{self.node}" if self.node else "unplaced"


Palette = Mapping[str, str]
"""The class of the colour of each pool or owner."""

_BY_STATE: Palette = MappingProxyType({})


def plan_palette(workers: Sequence[WorkerReading], colour: str) -> Palette:
    """Colours for the pools or owners with most workers; the others share the last one. Empty: colours by state."""
    if colour not in ("pool", "owner"):
        return {}
    counts = Counter(name for worker in workers if (name := colour_key(worker, colour)))
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    return {name: f"f-{min(place, COLOURS - 1)}" for place, name in enumerate(ranked)}


def colour_key(worker: WorkerReading, colour: str) -> str:
    """The pool or the owner of a worker; empty for one without an owner."""
    return f"{worker.namespace}/{worker.pool}" if colour == "pool" else worker.owner


def shape_of(worker: WorkerReading) -> str:
    """The shape that shows its state. One that fails does not look like one that starts."""
    return "failing" if worker.failing and worker.state in ("starting", "idle") else worker.state


def plan_tiles(nodes: Sequence[NodeReading], workers: Sequence[WorkerReading]) -> list[Tile]:
    """Workers without a live node first, then work nodes, then system nodes."""
    by_node: dict[str, list[WorkerReading]] = defaultdict(list)
    known = {node.name for node in nodes}
    for worker in workers:
        by_node[worker.node if worker.node in known else UNPLACED].append(worker)
    tiles = [_node_tile(node, by_node[node.name]) for node in sorted(nodes, key=lambda node: (node.system, node.name))]
    waiting = by_node[UNPLACED]
    if waiting:
        tiles.insert(0, _unplaced_tile(waiting))
    return tiles


def _unplaced_tile(workers: list[WorkerReading]) -> Tile:
    """Workers that wait for a node, and those whose node is gone."""
    left = sum(bool(worker.node) for worker in workers)
    waiting = len(workers) - left
    note = ", ".join([*([f"{waiting} waiting"] if waiting else []), *([f"{left} whose node is gone"] if left else [])])
    return Tile(UNPLACED, "No node" if left else "No node yet", note, "unplaced", tuple(workers))


def _node_tile(node: NodeReading, workers: list[WorkerReading]) -> Tile:
    if not node.ready:
        kind, note = "notready", f"not Ready{_since(node)}"
    elif node.draining:
        kind, note = "draining", f"{node.draining}{_since(node)}"
    elif node.quarantine is not None:
        until = node.quarantine.until.strftime("%H:%MZ")
        kind, note = "quarantined", f"quarantined until {until}: {node.quarantine.reason}"
    elif node.system:
        kind, note = "system", "system node"
    else:
        kind, note = "open", f"{len(workers)} worker{'s' if len(workers) != 1 else ''}"
    return Tile(node.name, node.name, f"{note}{_held_until(workers)}", kind, tuple(workers), node.load)


def _since(node: NodeReading) -> str:
    return f" since {node.why.since:%H:%MZ}" if node.why.since else ""


def _held_until(workers: Sequence[WorkerReading]) -> str:
    """How long the workers of a node can delay its drain."""
    ends = [worker.protected_until for worker in workers if worker.protected and worker.protected_until]
    return f", held until {max(ends):%H:%MZ}" if ends else ""


def render_tile(tile: Tile, palette: Palette = _BY_STATE, colour: str = "") -> str:
    """The box, with one path for each state (and colour), and a text for screen readers."""
    cells: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, worker in enumerate(tile.workers):
        shade = f" {palette.get(colour_key(worker, colour), 'f-none')}" if palette else ""
        cells[shape_of(worker), shade].append(index)
        if worker.protected:
            cells["protected", ""].append(index)
    paths = "".join(
        f'<path class="cell s-{state}{shade}" d="{path_of(state, found)}"/>'
        for (state, shade), found in sorted(cells.items(), key=lambda item: _order(item[0]))
    )
    width, height = COLUMNS * CELL, rows_needed(len(tile.workers)) * CELL
    label = escape(f"{tile.title}, {tile.note}: {describe_counts(tile.workers)}")
    title, note, node = escape(tile.title), escape(tile.note), escape(tile.node)
    name = f'<a href="/nodes/{escape(quote(tile.node, safe=""))}">{title}</a>' if tile.node else title
    return (
        f'<article class="tile k-{tile.kind}" id="{escape(tile.id)}" data-node="{node}"'
        f' data-cells="{len(tile.workers)}">'
        f'<h3 title="{title}">{name}</h3><p class="note" title="{note}">{note}</p>{_meters(tile.load)}'
        f'<svg class="cells" role="img" tabindex="0" aria-label="{label}" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}">{paths}</svg></article>'
    )


def _order(key: tuple[str, str]) -> tuple[int, str]:
    return list(SHAPES).index(key[0]), key[1]


def _meters(load: NodeLoad) -> str:
    """How much of its CPU and memory the workers of a node request."""
    if not load.cpu_millis or not load.memory_bytes:
        return ""
    cpu, memory = load.requested_cpu_millis / load.cpu_millis, load.requested_memory_bytes / load.memory_bytes
    cores = f"CPU: {load.requested_cpu_millis / 1000:g} of {load.cpu_millis / 1000:g} requested by workers"
    used, there = load.requested_memory_bytes / GIB, load.memory_bytes / GIB
    gibibytes = f"memory: {used:.1f} of {there:.1f} GiB requested by workers"
    return f'<div class="meters">{_meter(cpu, cores)}{_meter(memory, gibibytes)}</div>'


def _meter(part: float, label: str) -> str:
    kind = "used full" if part >= FULL else "used"
    return (
        f'<svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f'<title>{label}</title><rect class="track" width="100" height="4"/>'
        f'<rect class="{kind}" width="{min(1.0, part) * 100:.1f}" height="4"/></svg>'
    )


def describe_counts(workers: Sequence[WorkerReading]) -> str:
    """`1 busy, 2 failing, 3 idle, 1 protected`, or `no workers`."""
    counts = Counter(shape_of(worker) for worker in workers)
    counts += Counter("protected" for worker in workers if worker.protected)
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no workers"

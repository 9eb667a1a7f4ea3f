"""One tile for each node, with its workers as cells.

Written without a template, because a fleet has thousands of cells.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

import msgspec

from mooring.dashboard.shapes import CELL, COLUMNS, SHAPES, path_of, rows_needed
from mooring.queries.fleet import NodeReading, WorkerReading

UNPLACED = ""


class Tile(msgspec.Struct, frozen=True):
    """The content of one box of the map."""

    node: str
    title: str
    note: str
    kind: str  # open, draining, quarantined, notready, system, unplaced
    workers: tuple[WorkerReading, ...]

    @property
    def id(self) -> str:
        return f"tile-{self.node}" if self.node else "unplaced"


def plan_tiles(nodes: Sequence[NodeReading], workers: Sequence[WorkerReading]) -> list[Tile]:
    """Workers without a live node first, then work nodes, then system nodes."""
    by_node: dict[str, list[WorkerReading]] = defaultdict(list)
    known = {node.name for node in nodes}
    for worker in workers:
        by_node[worker.node if worker.node in known else UNPLACED].append(worker)
    tiles = [_node_tile(node, by_node[node.name]) for node in sorted(nodes, key=lambda node: (node.system, node.name))]
    waiting = by_node[UNPLACED]
    if waiting:
        tiles.insert(0, Tile(UNPLACED, "No node yet", f"{len(waiting)} waiting", "unplaced", tuple(waiting)))
    return tiles


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
    return Tile(node.name, node.name, f"{note}{_held_until(workers)}", kind, tuple(workers))


def _since(node: NodeReading) -> str:
    return f" since {node.why.since:%H:%MZ}" if node.why.since else ""


def _held_until(workers: Sequence[WorkerReading]) -> str:
    """How long the workers of a node can delay its drain."""
    ends = [worker.protected_until for worker in workers if worker.protected and worker.protected_until]
    return f", held until {max(ends):%H:%MZ}" if ends else ""


def render_tile(tile: Tile) -> str:
    """The box, with one path for each state and a text for screen readers."""
    cells: dict[str, list[int]] = defaultdict(list)
    for index, worker in enumerate(tile.workers):
        cells[worker.state].append(index)
        if worker.protected:
            cells["protected"].append(index)
    paths = "".join(
        f'<path class="cell s-{state}" d="{path_of(state, cells[state])}"/>' for state in SHAPES if cells[state]
    )
    width, height = COLUMNS * CELL, rows_needed(len(tile.workers)) * CELL
    label = escape(f"{tile.title}, {tile.note}: {describe_counts(tile.workers)}")
    title, note, node = escape(tile.title), escape(tile.note), escape(tile.node)
    name = f'<a href="/nodes/{escape(quote(tile.node, safe=""))}">{title}</a>' if tile.node else title
    return (
        f'<article class="tile k-{tile.kind}" id="{escape(tile.id)}" data-node="{node}"'
        f' data-cells="{len(tile.workers)}">'
        f'<h3 title="{title}">{name}</h3><p class="note" title="{note}">{note}</p>'
        f'<svg role="img" tabindex="0" aria-label="{label}" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}">{paths}</svg></article>'
    )


def describe_counts(workers: Sequence[WorkerReading]) -> str:
    """`1 busy, 3 idle, 1 protected`, or `no workers`."""
    counts = Counter(worker.state for worker in workers)
    counts += Counter("protected" for worker in workers if worker.protected)
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no workers"

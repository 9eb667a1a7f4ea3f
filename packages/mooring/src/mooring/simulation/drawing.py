"""Arrivals and floors over time as SVG, one panel for each trace and start."""

from collections import Counter
from collections.abc import Sequence
from html import escape

from mooring.simulation.comparison import Comparison
from mooring.simulation.traces import HOUR, Trace

WIDTH, PANEL, MARGIN = 900, 170, 40
BIN_SECONDS = 300.0
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.arrivals{fill:#c9d7e8}.floor{fill:none;stroke:#b3261e;stroke-width:1.5}"
    ".fixed{stroke:#555;stroke-dasharray:5 4}.axis{stroke:#999}"
)


def draw(played: Sequence[tuple[Trace, Comparison]]) -> str:
    """The whole picture."""
    height = PANEL * len(played)
    panels = [_panel(trace, comparison, place * PANEL) for place, (trace, comparison) in enumerate(played)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Arrivals of claims and the floor that follows them">\n<style>{_STYLE}</style>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def _panel(trace: Trace, comparison: Comparison, top: int) -> str:
    floors = comparison.planned.floors
    first, last = floors[0][0], floors[-1][0]
    width, height, base = WIDTH - 2 * MARGIN, PANEL - 60, top + PANEL - 25

    def x(at: float) -> float:
        return round(MARGIN + width * (at - first) / max(1.0, last - first), 1)

    highest = max(max(floor for _, floor in floors), comparison.best_floor, 1)
    counts = Counter(int((at - first) / BIN_SECONDS) for at in trace if first <= at <= last)
    busiest = max(counts.values(), default=1)
    bars = "".join(
        f'<rect class="arrivals" x="{x(first + place * BIN_SECONDS)}" y="{round(base - height * count / busiest, 1)}" '
        f'width="{round(width * BIN_SECONDS / (last - first), 1)}" height="{round(height * count / busiest, 1)}"/>'
        for place, count in sorted(counts.items())
    )
    line = _steps([(x(at), round(base - height * floor / highest, 1)) for at, floor in floors])
    fixed = round(base - height * comparison.best_floor / highest, 1)
    title = (
        f"{comparison.name}, start {comparison.start_seconds:g} s: floor up to {highest} (red), cheapest fixed floor "
        f"{comparison.best_floor} (dashed), claims in 5 min up to {busiest} (bars); cost {comparison.cost:.2f} x"
    )
    hours = "".join(
        f'<text x="{x(first + hour * HOUR)}" y="{base + 15}">{hour}:00</text>'
        for hour in range(0, int((last - first) / HOUR) + 1, 6)
    )
    return (
        f'<text x="{MARGIN}" y="{top + 18}">{escape(title)}</text>{bars}<path class="floor" d="{line}"/>'
        f'<line class="fixed" x1="{MARGIN}" y1="{fixed}" x2="{MARGIN + width}" y2="{fixed}"/>'
        f'<line class="axis" x1="{MARGIN}" y1="{base}" x2="{MARGIN + width}" y2="{base}"/>{hours}'
    )


def _steps(points: Sequence[tuple[float, float]]) -> str:
    """A path of steps; points that change nothing are left out."""
    path, level = f"M{points[0][0]} {points[0][1]}", points[0][1]
    for at, value in points[1:]:
        if value != level:
            path += f"H{at}V{value}"
            level = value
    return f"{path}H{points[-1][0]}"

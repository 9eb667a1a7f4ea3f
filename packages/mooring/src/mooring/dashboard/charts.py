"""Charts as SVG, drawn by the server. Labels are HTML beside the drawing, so that it can be stretched to any width."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
from markupsafe import Markup

from mooring.dashboard.chart_scale import HEIGHT, WIDTH, Scale, round_up, round_up_count, split_at_gaps
from mooring.model.pool_history import Sample
from mooring.queries.pool_history import HistoryPoint, PoolHistory

STATES = ("busy", "idle", "starting", "draining", "lost")  # from the bottom of the stack
PERCENTILES = ("p50", "p95", "p99")
TABLE_ROWS = 24
SPARK_WIDTH, SPARK_HEIGHT = 120, 28
SPARK_GAP_SECONDS = 20  # two samples; a longer silence is a gap


class Chart(msgspec.Struct, frozen=True):
    """A drawing with its axes, its legend, and the table of the same numbers."""

    id: str
    title: str
    drawing: Markup
    high: str  # the label at the top of the vertical axis; the middle and the bottom follow
    middle: str
    moments: tuple[datetime, ...]
    legend: tuple[tuple[str, str], ...]  # class and text
    columns: tuple[str, ...]
    rows: tuple[tuple[datetime, tuple[str, ...]], ...]
    dated: bool  # the range is longer than a day
    empty: str = ""


class _Plot(msgspec.Struct, frozen=True):
    """What one kind of chart has of its own."""

    id: str
    title: str
    paths: Sequence[str]
    legend: tuple[tuple[str, str], ...]
    table: Mapping[str, Sequence[str]]
    label: Callable[[float], str] = "{:g}".format
    empty: str = ""


def _workers(point: HistoryPoint) -> dict[str, float]:
    """By the states of the stack; a claimed worker counts as busy."""
    found = {state: point.workers.get(state, 0.0) for state in STATES}
    return found | {"busy": found["busy"] + point.workers.get("claimed", 0.0)}


def draw_workers(history: PoolHistory) -> Chart:
    """Workers by state, stacked, against the floor and the limit."""
    points = history.points
    counts = [_workers(point) for point in points]
    highest = max([point.max for point in points] + [sum(one.values()) for one in counts], default=1)
    scale = Scale(history.since, history.until, round_up_count(highest))
    used = [state for state in STATES if any(one[state] for one in counts)]
    paths, below = [], [0.0] * len(points)
    for state in used:
        above = [low + one[state] for low, one in zip(below, counts, strict=True)]
        paths.append(f'<path class="area a-{state}" d="{_bands(history, scale, below, above)}"/>')
        below = above
    paths.append(_line(history, scale, "limit", lambda point: point.max))
    paths.append(_line(history, scale, "floor", lambda point: point.warm))
    paths.append(_columns(history, scale, [_describe_workers(*both) for both in zip(points, counts, strict=True)]))
    table = {state: [f"{one[state]:g}" for one in counts] for state in STATES}
    table |= {"floor": [str(point.warm) for point in points], "at most": [str(point.max) for point in points]}
    legend = (*((f"a-{state}", state) for state in used), ("floor", "floor"), ("limit", "at most"))
    return _chart(history, scale, _Plot("workers", "Workers", paths, legend, table))


def _describe_workers(point: HistoryPoint, counts: Mapping[str, float]) -> str:
    text = ", ".join(f"{counts[state]:g} {state}" for state in STATES if counts[state]) or "no workers"
    return f"{text}; floor {point.warm}, at most {point.max}"


def draw_waits(history: PoolHistory) -> Chart:
    """How long claims waited, by percentiles. Steps without claims have no point."""
    known = [(point.at, point.wait) for point in history.points if point.wait is not None]
    scale = Scale(history.since, history.until, round_up(max((wait.p99 for _, wait in known), default=1.0)))
    paths = []
    for name in reversed(PERCENTILES) if known else ():
        places = [f"{scale.x(at)} {scale.y(getattr(wait, name))}" for at, wait in known]
        dots = "".join(f"M{place}h0" for place in places)
        paths.append(f'<path class="line l-{name}" d="M{"L".join(places)}"/><path class="dots l-{name}" d="{dots}"/>')
    paths.append(_columns(history, scale, [_describe_wait(point) for point in history.points]))
    table = {"claims": [str(point.claims) for point in history.points]}
    for name in PERCENTILES:
        table[name] = [describe_seconds(getattr(p.wait, name)) if p.wait else "-" for p in history.points]
    legend = tuple((f"l-{name}", name) for name in PERCENTILES)
    empty = "" if known else "No claim got a worker in this time."
    return _chart(history, scale, _Plot("waits", "Wait of claims", paths, legend, table, describe_seconds, empty))


def _describe_wait(point: HistoryPoint) -> str:
    if point.wait is None:
        return f"no claims; queue {point.queued}"
    shares = ", ".join(f"{name} {describe_seconds(getattr(point.wait, name))}" for name in PERCENTILES)
    return f"{point.claims} claims: {shares}; queue {point.queued}"


def draw_queue(history: PoolHistory) -> Chart:
    """The longest queue of each step, and how many claims got a worker."""
    points = history.points
    queued = [float(point.queued) for point in points]
    scale = Scale(history.since, history.until, round_up_count(max([*queued, *(p.claims for p in points), 1.0])))
    texts = [f"{p.queued} queued, {p.claims} claims began, {p.ended} ended" for p in points]
    paths = [
        f'<path class="area a-queued" d="{_bands(history, scale, [0.0] * len(queued), queued)}"/>',
        _line(history, scale, "l-claims", lambda point: point.claims),
        _columns(history, scale, texts),
    ]
    table = {
        "queued": [str(point.queued) for point in points],
        "began": [str(point.claims) for point in points],
        "ended": [str(point.ended) for point in points],
    }
    legend = (("a-queued", "longest queue"), ("l-claims", "claims that got a worker"))
    return _chart(history, scale, _Plot("queue", "Queue and claims", paths, legend, table))


def describe_seconds(seconds: float) -> str:
    """`2.5 ms`, `35 ms`, `1.4 s`, `2.5 min`."""
    if seconds < 1:
        milliseconds = seconds * 1000
        return f"{round(milliseconds, 1 if milliseconds < 10 else None):g} ms"
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _chart(history: PoolHistory, scale: Scale, plot: _Plot) -> Chart:
    every = max(1, -(-len(history.points) // TABLE_ROWS))
    shown = range(len(history.points) - 1, -1, -every)
    drawing = (
        f'<svg class="drawing" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="gridline" d="M0 0H{WIDTH:g}M0 {HEIGHT / 2:g}H{WIDTH:g}M0 {HEIGHT:g}H{WIDTH:g}"/>'
        f"{''.join(plot.paths)}</svg>"
    )
    return Chart(
        id=plot.id,
        title=plot.title,
        drawing=Markup(drawing),
        high=plot.label(scale.top),
        middle=plot.label(scale.top / 2),
        moments=tuple(scale.moments),
        legend=plot.legend,
        columns=tuple(plot.table),
        rows=tuple((history.points[i].at, tuple(column[i] for column in plot.table.values())) for i in shown),
        dated=history.until - history.since > timedelta(days=1),
        empty=plot.empty if history.points else "Nothing was recorded in this time. Samples are taken every 10 s.",
    )


def _bands(history: PoolHistory, scale: Scale, below: Sequence[float], above: Sequence[float]) -> str:
    """The area between two lines, as steps: a sample is about the seconds before it."""
    step = timedelta(seconds=history.step_seconds)
    moments = [point.at for point in history.points]
    pieces = []
    for stretch in split_at_gaps(moments, history.step_seconds):
        upper = "".join(f"H{scale.x(moments[i] - step)}V{scale.y(above[i])}H{scale.x(moments[i])}" for i in stretch)
        lower = "".join(f"V{scale.y(below[i])}H{scale.x(moments[i] - step)}" for i in reversed(stretch))
        start = stretch[0]
        pieces.append(f"M{scale.x(moments[start] - step)} {scale.y(below[start])}{upper}{lower}z")
    return "".join(pieces)


def _line(history: PoolHistory, scale: Scale, kind: str, value: Callable[[HistoryPoint], float]) -> str:
    step = timedelta(seconds=history.step_seconds)
    pieces = []
    for stretch in split_at_gaps([point.at for point in history.points], history.step_seconds):
        first = history.points[stretch[0]]
        pieces.append(f"M{scale.x(first.at - step)} {scale.y(value(first))}")
        pieces += [f"V{scale.y(value(history.points[i]))}H{scale.x(history.points[i].at)}" for i in stretch]
    return f'<path class="line {kind}" d="{"".join(pieces)}"/>'


def _columns(history: PoolHistory, scale: Scale, texts: Sequence[str]) -> str:
    """One transparent column a step, which shows its numbers when pointed at."""
    step = timedelta(seconds=history.step_seconds)
    pieces = []
    for point, text in zip(history.points, texts, strict=True):
        left, right = scale.x(point.at - step), scale.x(point.at)
        title = Markup("<title>{} UTC: {}</title>").format(point.at.strftime("%H:%M:%S"), text)
        pieces.append(
            f'<rect class="hit" x="{left}" width="{max(0.0, right - left):.1f}" height="{HEIGHT:g}">{title}</rect>'
        )
    return "".join(pieces)


def draw_sparkline(samples: Sequence[Sample], until: datetime, seconds: int) -> Markup:
    """Busy workers of the last minutes as an area, all workers as a line, on the scale of the limit."""
    if not samples:
        return Markup("")
    since = until - timedelta(seconds=seconds)
    totals = [sum(sample.workers.values()) for sample in samples]
    busy = [sample.workers.get("busy", 0.0) + sample.workers.get("claimed", 0.0) for sample in samples]
    top = max(*totals, *busy, 1.0) * 1.1

    def place(at: datetime, value: float) -> str:
        x = min(1.0, max(0.0, (at - since).total_seconds() / seconds)) * SPARK_WIDTH
        return f"{x:.1f} {SPARK_HEIGHT * (1 - value / top):.1f}"

    lines, areas = [], []
    for stretch in split_at_gaps([sample.at for sample in samples], SPARK_GAP_SECONDS):
        lines.append("M" + "L".join(place(samples[i].at, totals[i]) for i in stretch))
        upper = "L".join(place(samples[i].at, busy[i]) for i in stretch)
        areas.append(f"M{place(samples[stretch[0]].at, 0)}L{upper}L{place(samples[stretch[-1]].at, 0)}z")
    return Markup(
        f'<svg class="spark" viewBox="0 0 {SPARK_WIDTH} {SPARK_HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-label="last {seconds // 60} minutes: {busy[-1]:g} busy of {totals[-1]:g} workers now,'
        f' at most {max(busy):g} busy">'
        f'<path class="area a-busy" d="{"".join(areas)}"/><path class="line l-total" d="{"".join(lines)}"/></svg>'
    )


def draw_capacity(counts: Mapping[str, int], warm: int, most: int, label: str) -> Markup:
    """Workers by state as one bar on the scale of the limit, with a mark at the floor."""
    total = sum(counts.values())
    top = max(most, total, 1)
    pieces, left = [], 0.0
    for state in STATES:
        width = counts.get(state, 0) / top * 100
        if width:
            pieces.append(f'<rect class="a-{state}" x="{left:.2f}" width="{width:.2f}" height="12"/>')
        left += width
    mark = warm / top * 100
    return Markup(
        '<svg class="capacity" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="track" width="100" height="12"/>{}<path class="floor" d="M{} 0v12"/></svg>'
    ).format(label, Markup("".join(pieces)), f"{min(mark, 99.8):.2f}")

"""Timelines as lanes: what an object went through, one lane for each aspect, on one axis of time."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from markupsafe import Markup

from mooring.dashboard.chart_scale import Scale

LANE_WIDTH = 1000
LANE_HEIGHT = 20


class Span(msgspec.Struct, frozen=True):
    """Something that lasted; without an end it goes on."""

    kind: str  # a class of the style sheet: idle, busy, queued, ...
    start: datetime
    end: datetime | None
    text: str


class Mark(msgspec.Struct, frozen=True):
    """Something that happened at one moment."""

    kind: str  # ok, bad, act
    at: datetime
    text: str


class Lane(msgspec.Struct, frozen=True):
    """One aspect of the object."""

    title: str
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()


class DrawnLane(msgspec.Struct, frozen=True):
    """A lane as SVG."""

    title: str
    drawing: Markup


class Timeline(msgspec.Struct, frozen=True):
    """All lanes, and the moments on their axis."""

    lanes: tuple[DrawnLane, ...]
    moments: tuple[datetime, ...]
    dated: bool


def draw_timeline(lanes: Sequence[Lane], now: datetime) -> Timeline | None:
    """From the first beginning to the last end, or to now while something goes on. None if there is nothing."""
    starts = [span.start for lane in lanes for span in lane.spans] + [mark.at for lane in lanes for mark in lane.marks]
    if not starts:
        return None
    ends = [span.end or now for lane in lanes for span in lane.spans]
    since = min(starts)
    until = max([*starts, *ends, since + timedelta(seconds=1)])
    scale = Scale(since, until, 1.0)
    drawn = tuple(DrawnLane(lane.title, _draw(lane, scale, now)) for lane in lanes if lane.spans or lane.marks)
    return Timeline(drawn, tuple(scale.moments), until - since > timedelta(hours=20))


def _draw(lane: Lane, scale: Scale, now: datetime) -> Markup:
    pieces = []
    for span in lane.spans:
        left, right = scale.x(span.start), scale.x(span.end or now)
        kind = f"span t-{span.kind}" + ("" if span.end else " open")
        pieces.append(
            Markup('<rect class="{}" x="{}" y="3" width="{}" height="14"><title>{}</title></rect>').format(
                kind, left, max(2.0, round(right - left, 1)), _describe(span, now)
            )
        )
    for mark in lane.marks:
        # A line of no length with a round cap stays a circle when the drawing is stretched.
        pieces.append(
            Markup('<path class="mark m-{}" d="M{} 10h0"><title>{} UTC: {}</title></path>').format(
                mark.kind, scale.x(mark.at), f"{mark.at:%Y-%m-%d %H:%M:%S}", mark.text
            )
        )
    return Markup(
        '<svg class="lane" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(LANE_WIDTH, LANE_HEIGHT, Markup("").join(pieces))


def _describe(span: Span, now: datetime) -> str:
    end = f"to {span.end:%H:%M:%S}" if span.end else "until now"
    return f"{span.text}: {span.start:%Y-%m-%d %H:%M:%S} UTC {end} ({(span.end or now) - span.start})".split(".")[0]

"""A replay as data, for a player: the events of each half, and what changed on its map and when."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import msgspec

from mooring.incidents.incident import Figures, Incident
from mooring.incidents.replay import Outcome
from mooring.incidents.scene import Cell, Scene
from mooring.incidents.stage import Audience, Nobody
from mooring.incidents.table import compute_rows
from mooring.incidents.timeline import Timeline

V = TypeVar("V")
_DIGITS = 1  # of the seconds of a frame


class Frame(msgspec.Struct, omit_defaults=True):
    """What is new since the frame before; None stands for what is gone."""

    seconds: float
    nodes: dict[str, str | None] = {}
    cells: dict[str, tuple[str, str, str, bool] | None] = {}  # by number: name, node, state, protected
    planes: dict[str, bool | None] = {}
    gauges: dict[str, str | None] = {}


class HalfRecording(msgspec.Struct):
    """One half. `seconds` is its length."""

    seconds: float
    outage: bool
    events: list[tuple[float, str]]
    frames: list[Frame]


class ReplayRecording(msgspec.Struct):
    """Both halves of a replay, from one run, and the table of its figures."""

    incident: str
    title: str
    story: str
    without: HalfRecording
    protected: HalfRecording = msgspec.field(name="with")
    figures: list[dict[str, str]]
    failure: str


class Recorder(Timeline):
    """An audience that keeps events and every change of the map, and shows them to another one, too."""

    def __init__(self, beside: Audience = Nobody()) -> None:
        super().__init__()
        self._beside = beside
        self._frames: list[Frame] = []
        self._last = Scene()
        self._numbers: dict[str, str] = {}  # of pods, by uid
        self._seconds = 0.0

    def report(self, seconds: float, text: str) -> None:
        super().report(seconds, text)
        self._beside.report(seconds, text)

    def show(self, seconds: float, gauges: Mapping[str, object]) -> None:
        self._beside.show(seconds, gauges)

    def see(self, seconds: float, scene: Callable[[], Scene]) -> None:
        now = scene()
        self._seconds = seconds
        fresh = Frame(
            round(seconds, _DIGITS),
            _changes(self._last.nodes, now.nodes, str),
            {self._number(uid): cell for uid, cell in _changes(self._last.cells, now.cells, _row).items()},
            _changes(self._last.control_planes, now.control_planes, bool),
            _changes(self._last.gauges, now.gauges, str),
        )
        self._last = now
        if self._frames and self._frames[-1].seconds == fresh.seconds:
            for old, new in zip(_parts(self._frames[-1]), _parts(fresh), strict=True):
                old.update(new)
        elif any(_parts(fresh)):
            self._frames.append(fresh)

    def half(self, figures: Figures) -> HalfRecording:
        """The recording, when the half has ended."""
        events = [(round(seconds, _DIGITS), text) for seconds, text in self.events]
        seconds = max(self._seconds, *(when for when, _ in events), 0.0)
        return HalfRecording(round(seconds, _DIGITS), figures.outage, events, self._frames)

    def _number(self, uid: str) -> str:
        return self._numbers.setdefault(uid, str(len(self._numbers)))


def make_recording(incident: Incident, outcome: Outcome, without: Recorder, protected: Recorder) -> ReplayRecording:
    """The recording of a replay of which both halves were played."""
    assert outcome.protected is not None
    return ReplayRecording(
        incident.name,
        incident.title,
        incident.story,
        without.half(outcome.unprotected),
        protected.half(outcome.protected),
        [asdict(row) for row in compute_rows(outcome)],
        outcome.failure,
    )


def _row(cell: Cell) -> tuple[str, str, str, bool]:
    return cell.name, cell.node, cell.state, cell.protected


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], read: Callable[[Any], V]) -> dict[str, V | None]:
    fresh: dict[str, V | None] = {name: read(value) for name, value in now.items() if before.get(name) != value}
    return fresh | {name: None for name in before if name not in now}


def _parts(frame: Frame) -> Iterator[dict[str, Any]]:
    yield from (frame.nodes, frame.cells, frame.planes, frame.gauges)

"""The view of a running replay: live on a terminal, plain lines elsewhere."""

import sys
from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hawser.clock import SystemClock
from mooring.incidents.incident import Incident
from mooring.incidents.stage import START, Audience, Nobody

EVENTS_SHOWN = 8
REDRAW_SECONDS = 0.1


class View(Protocol):
    """Shows the halves of replays."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def seat(self, incident: Incident, protected: bool) -> Audience:
        """Receives the events of one half."""
        ...


class _StaysOpen:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Silence(_StaysOpen):
    """Shows nothing."""

    def seat(self, incident: Incident, protected: bool) -> Audience:
        return Nobody()


class Lines(_StaysOpen):
    """One line for each event, on stderr."""

    def seat(self, incident: Incident, protected: bool) -> Audience:
        return _Reader(f"{incident.name} {half_of(protected)}")


class _Reader(Nobody):
    def __init__(self, half: str) -> None:
        self._half = half

    def report(self, seconds: float, text: str) -> None:
        print(f"[{self._half} +{_elapsed(seconds)}] {text}", file=sys.stderr, flush=True)


class LiveView:
    """A box on the terminal with the virtual clock, figures and the last events. Removed when the replay ends."""

    def __init__(self, console: Console) -> None:
        self._clock = SystemClock()
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def seat(self, incident: Incident, protected: bool) -> Audience:
        return _Watcher(self._live, self._clock, incident, protected)


class _Watcher(Nobody):
    def __init__(self, live: Live, clock: SystemClock, incident: Incident, protected: bool) -> None:
        self._live = live
        self._clock = clock
        self._incident = incident
        self._protected = protected
        self._events: deque[tuple[float, str]] = deque(maxlen=EVENTS_SHOWN)
        self._gauges: Mapping[str, object] = {}
        self._drawn_at = float("-inf")

    def report(self, seconds: float, text: str) -> None:
        self._events.append((seconds, text))
        self._draw(seconds)

    def show(self, seconds: float, gauges: Mapping[str, object]) -> None:
        self._gauges = gauges
        if self._clock.monotonic() - self._drawn_at >= REDRAW_SECONDS:
            self._draw(seconds)

    def _draw(self, seconds: float) -> None:
        self._drawn_at = self._clock.monotonic()
        self._live.update(self._box(seconds), refresh=True)

    def _box(self, seconds: float) -> Panel:
        at = START + timedelta(seconds=seconds)
        head = Text(f"{at:%H:%M:%S}Z  +{_elapsed(seconds)}", style="bold")
        for name, value in self._gauges.items():
            head.append(f"   {name} ", style="not bold")
            head.append(str(value))
        events = Table.grid(padding=(0, 2))
        for when, text in self._events:
            events.add_row(Text(f"+{_elapsed(when)}", style="bright_black"), Text(text))
        style = "green" if self._protected else "red"
        title = Text(f"{self._incident.name}: {self._incident.title} ({half_of(self._protected)} protection)")
        return Panel(Group(head, Text(), events), title=title, title_align="left", border_style=style)


def choose_view(*, lines: bool) -> View:
    """Live on a terminal; elsewhere lines or nothing."""
    console = Console(stderr=True)
    if console.is_terminal:
        return LiveView(console)
    return Lines() if lines else Silence()


def half_of(protected: bool) -> str:
    """`with` or `without`."""
    return "with" if protected else "without"


def _elapsed(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02}:{minute:02}:{second:02}"

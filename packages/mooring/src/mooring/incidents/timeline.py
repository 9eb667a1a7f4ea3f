"""The events of one half of a replay, kept as a timeline for the documentation."""

from collections.abc import Iterator
from itertools import groupby

from mooring.incidents.replay import Outcome
from mooring.incidents.stage import Nobody
from mooring.incidents.table import as_markdown

_MOST_AT_ONCE = 2  # events of one second that a timeline shows; the others are counted


class Timeline(Nobody):
    """An audience that keeps what happens."""

    def __init__(self) -> None:
        self._events: list[tuple[float, str]] = []

    @property
    def events(self) -> list[tuple[float, str]]:
        """Times and texts."""
        return list(self._events)

    @property
    def texts(self) -> list[str]:
        """The events without their times."""
        return [text for _, text in self._events]

    def report(self, seconds: float, text: str) -> None:
        self._events.append((seconds, text))

    def as_markdown(self) -> str:
        """A table of times and events, as the stories in docs/incidents have it."""
        return "\n".join(["| time | event |", "|---|---|", *self._rows()])

    def _rows(self) -> Iterator[str]:
        for seconds, events in groupby(self._events, key=lambda event: round(event[0])):
            texts = [text for _, text in events]
            shown = texts if len(texts) <= _MOST_AT_ONCE + 1 else texts[:_MOST_AT_ONCE]
            for text in shown:
                yield f"| {_elapsed(seconds)} | {_cell(text)} |"
            if len(texts) > len(shown):
                yield f"| {_elapsed(seconds)} | and {len(texts) - len(shown)} more like these |"


def compute_blocks(outcome: Outcome, without: Timeline, protected: Timeline) -> dict[str, str]:
    """What the story of an incident shows of a run, by the name of the place where it stands."""
    return {
        "timeline without": without.as_markdown(),
        "timeline with": protected.as_markdown(),
        "figures": as_markdown(outcome),
    }


def _elapsed(seconds: int) -> str:
    """`7213` as `2:00:13`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def _cell(text: str) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`" if set(text) & set("{}<>*_") else escaped

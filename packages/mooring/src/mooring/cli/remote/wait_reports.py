"""What people see while a claim waits: one line that is rewritten on a terminal, lines about changes elsewhere."""

import shutil
import sys

from mooring.cli.output import printable
from mooring.client.records import Waiting
from mooring.model.time_format import describe_span

REPEAT_SECONDS = 30.0
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_CLEAR = "\r\x1b[2K"


class WaitReports:
    """Called about every two seconds. Off a terminal, an unchanged reason is repeated every half a minute."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._calls = 0
        self._shown = ""
        self._shown_at = 0.0

    def __call__(self, waiting: Waiting) -> None:
        if self._live:
            line = describe_wait(waiting, self._calls, shutil.get_terminal_size().columns - 1)
            print(f"{_CLEAR}{line}", end="", file=sys.stderr, flush=True)
            self._calls += 1
        else:
            self._report_change(waiting)

    def end(self) -> None:
        """Clear the line: other text follows."""
        if self._live and self._calls:
            print(_CLEAR, end="", file=sys.stderr, flush=True)

    def _report_change(self, waiting: Waiting) -> None:
        blockers = f" ({'; '.join(waiting.why.blockers)})" if waiting.why.blockers else ""
        text = f"{waiting.why.message}{blockers}"
        waited = waiting.waited_seconds
        if text == self._shown and waited - self._shown_at < REPEAT_SECONDS:
            return
        line = f"mooring: {waiting.why.message}, for {waited:.0f} s{blockers if text != self._shown else ''}"
        print(printable(line), file=sys.stderr, flush=True)
        self._shown, self._shown_at = text, waited


def describe_wait(waiting: Waiting, step: int, width: int) -> str:
    """Spinner, place, time, and what holds the claim up, cut to the width."""
    place = f"place {waiting.position}, " if waiting.position is not None else ""
    reason = "; ".join((waiting.why.message, *waiting.why.blockers))
    line = printable(f"{_SPINNER[step % len(_SPINNER)]} {place}{describe_span(waiting.waited_seconds)}: {reason}")
    return line if len(line) <= width else f"{line[: max(width - 1, 0)]}…"

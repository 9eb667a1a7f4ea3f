"""Reading a container's log: the CRI's files as lines, and lines as a kubelet serves them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from drydock.runtime.contract import LogLine

_FOLLOW_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class LogRequest:
    """What is asked of a log; named as in PodLogOptions."""

    previous: bool = False
    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: int | None = None
    since_time: datetime | None = None

    def earliest(self, now: datetime) -> datetime | None:
        """Lines before this are left out."""
        if self.since_seconds is not None:
            return now - timedelta(seconds=self.since_seconds)
        return self.since_time


def read_lines(path: Path, after: int) -> tuple[list[LogLine], int]:
    """The lines of a CRI log from byte `after`, and where they end; one that was begun anew is read from its start."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            if file.tell() < after:
                after = 0
            file.seek(after)
            data = file.read()
    except FileNotFoundError:
        return [], after
    whole, newline, _ = data.rpartition(b"\n")
    if not newline:
        return [], after
    return [_parsed(line) for line in whole.split(b"\n")], after + len(whole) + 1


def _parsed(line: bytes) -> LogLine:
    stamp, _, rest = line.partition(b" ")
    _, _, rest = rest.partition(b" ")
    tag, _, text = rest.partition(b" ")
    seconds = stamp.decode()[:26] + "+00:00"  # Python reads microseconds, the file has nanoseconds
    return LogLine(datetime.fromisoformat(seconds), text, tag == b"F")


def select(lines: Sequence[LogLine], request: LogRequest, now: datetime) -> list[LogLine]:
    """The lines asked for."""
    earliest = request.earliest(now)
    chosen = [line for line in lines if earliest is None or line.at >= earliest]
    if request.tail_lines is None:
        return chosen
    kept = len(chosen)
    wanted = request.tail_lines
    while kept and wanted:
        kept -= 1
        while kept and not chosen[kept - 1].whole:
            kept -= 1
        wanted -= 1
    return chosen[kept:] if request.tail_lines else []


def render(lines: Sequence[LogLine], timestamps: bool) -> bytes:
    """Lines as text, as the container wrote them."""
    parts: list[bytes] = []
    begins = True
    for line in lines:
        if timestamps and begins:
            parts.append(f"{line.at:%Y-%m-%dT%H:%M:%S.%f}000Z ".encode())
        parts.append(line.text + b"\n" if line.whole else line.text)
        begins = line.whole
    return b"".join(parts)


class LogReader:
    """One answer to one request."""

    def __init__(
        self,
        read: Callable[[int], tuple[Sequence[LogLine], int]],
        is_over: Callable[[], bool],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._read = read
        self._is_over = is_over
        self._sleep = sleep

    async def stream(self, request: LogRequest, now: datetime) -> AsyncIterator[bytes]:
        """What is there; with `follow` also what comes, until the container has ended."""
        left = request.limit_bytes
        lines, position = self._read(0)
        chunk = render(select(lines, request, now), request.timestamps)
        while True:
            if left is not None:
                chunk = chunk[:left]
                left -= len(chunk)
            if chunk:
                yield chunk
            if not request.follow or left == 0:
                return
            over = self._is_over()
            if not over:
                await self._sleep(_FOLLOW_SECONDS)
            lines, position = self._read(position)
            chunk = render(lines, request.timestamps)
            if over and not chunk:
                return

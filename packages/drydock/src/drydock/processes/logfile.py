"""A container's log on disk in the CRI's format: `<time> <stream> <F|P> <text>`, one file and one older twin."""

import os
import time
from datetime import UTC, datetime

LINE_LIMIT_BYTES = 16 * 1024


class LogFile:
    """Written by the supervisor; when it reaches its limit it is renamed to `<path>.1` and begun anew."""

    def __init__(self, path: str, limit_bytes: int) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self._partial: dict[str, bytes] = {}
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - lives as long as the container
        self._size = os.fstat(self._file.fileno()).st_size

    def write(self, stream: str, data: bytes) -> None:
        """Take a chunk of any size; whole lines are written, the rest is kept."""
        *lines, rest = (self._partial.pop(stream, b"") + data).split(b"\n")
        entries = [entry for line in lines for entry in self._split(stream, line, "F")]
        while len(rest) >= LINE_LIMIT_BYTES:
            entries += self._split(stream, rest[:LINE_LIMIT_BYTES], "P")
            rest = rest[LINE_LIMIT_BYTES:]
        if rest:
            self._partial[stream] = rest
        self._append(b"".join(entries))

    def end(self, stream: str) -> None:
        """The stream is over: what has no newline is written as a partial line."""
        if rest := self._partial.pop(stream, b""):
            self._append(b"".join(self._split(stream, rest, "P")))

    def close(self) -> None:
        self._file.close()

    def _split(self, stream: str, line: bytes, tag: str) -> list[bytes]:
        parts = [line[i : i + LINE_LIMIT_BYTES] for i in range(0, len(line), LINE_LIMIT_BYTES)] or [b""]
        head = f"{_now()} {stream} ".encode()
        return [head + b"P " + part + b"\n" for part in parts[:-1]] + [head + tag.encode() + b" " + parts[-1] + b"\n"]

    def _append(self, data: bytes) -> None:
        if not data:
            return
        if self._size and self._size + len(data) > self._limit_bytes:
            self._file.close()
            os.replace(self._path, self._path + ".1")
            self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115
            self._size = 0
        self._file.write(data)
        self._size += len(data)


def _now() -> str:
    """The machine's time: the supervisor is a process of its own and knows no other clock."""
    nanoseconds = time.time_ns()
    moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 1_000_000_000:09d}Z"

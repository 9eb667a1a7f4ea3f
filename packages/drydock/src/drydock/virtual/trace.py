"""What happened in a virtual run, as a hash to compare two runs and as a tail to read when they differ."""

import hashlib
from collections import deque
from collections.abc import Callable
from typing import Final

_TAIL_LENGTH: Final = 200


class Trace:
    """Scenarios `record` lines, the loop notes each task step; the same seed must give the same `digest`."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._lines = hashlib.blake2b(digest_size=16)
        self._steps_hash = 0
        self.steps = 0
        self.records = 0
        self.tail: deque[str] = deque(maxlen=_TAIL_LENGTH)

    def record(self, line: str) -> None:
        """Note a line with the time it happened."""
        stamped = f"{self._time():.6f} {line}"
        self.records += 1
        self.tail.append(stamped)
        self._lines.update(stamped.encode() + b"\n")

    def step(self, task_number: int) -> None:
        """Note that a task took a step. Runs for every step, so it hashes numbers only."""
        self.steps += 1
        self._steps_hash = hash((self._steps_hash, self._time(), task_number))

    @property
    def digest(self) -> str:
        """The whole run so far, in one word."""
        whole = self._lines.copy()
        whole.update(f"{self.steps} {self._steps_hash}".encode())
        return whole.hexdigest()

    def summary(self) -> str:
        """For a failure report: where it stopped, and the last lines before it."""
        lines = "".join(f"\n  {line}" for line in self.tail)
        return f"at {self._time():.6f} s after {self.steps} task steps, trace {self.digest}{lines}"

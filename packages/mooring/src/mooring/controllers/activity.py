"""Whether a worker executes something: what it said itself when it last asked for work, or that it never started."""

from dataclasses import dataclass

from hawser.clock import Clock
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker


@dataclass(frozen=True, slots=True)
class _Word:
    executing: bool
    heard_at: float


class PolledActivity:
    """What workers said when they polled. Silence is not idleness: it is unknown."""

    def __init__(self, clock: Clock, fresh_seconds: float = Timeouts().worker_word) -> None:
        self._clock = clock
        self._fresh_seconds = fresh_seconds
        self._words: dict[str, _Word] = {}  # the oldest first

    def hear(self, pod_uid: str, *, executing: bool) -> None:
        """A worker said what it does."""
        self._words.pop(pod_uid, None)
        self._words[pod_uid] = _Word(executing, self._clock.monotonic())
        self._forget_old()

    def executing(self, worker: Worker) -> bool | None:
        """True or False as far as it is proven; None when it is not known."""
        if worker.finished or worker.phase == "Pending":
            return False
        self._forget_old()
        word = self._words.get(worker.uid)
        return None if word is None else word.executing

    def _forget_old(self) -> None:
        oldest_fresh = self._clock.monotonic() - self._fresh_seconds
        while self._words:
            uid, word = next(iter(self._words.items()))
            if word.heard_at >= oldest_fresh:
                return
            del self._words[uid]

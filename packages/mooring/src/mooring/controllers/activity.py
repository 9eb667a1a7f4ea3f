"""Whether a worker executes something: by its own last report, or because it never started."""

from dataclasses import dataclass

from hawser.clock import Clock
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker


@dataclass(frozen=True, slots=True)
class _Report:
    executing: bool
    at: float


class PolledActivity:
    """What workers reported when they polled. For a silent worker it is unknown."""

    def __init__(self, clock: Clock, fresh_seconds: float = Timeouts().worker_report) -> None:
        self._clock = clock
        self._fresh_seconds = fresh_seconds
        self._reports: dict[str, _Report] = {}  # the oldest first

    def record(self, pod_uid: str, *, executing: bool) -> None:
        """A report of a worker."""
        self._reports.pop(pod_uid, None)
        self._reports[pod_uid] = _Report(executing, self._clock.monotonic())
        self._forget_old()

    def executing(self, worker: Worker) -> bool | None:
        """True or False as far as it is proven; None when it is not known."""
        if worker.finished or worker.phase == "Pending":
            return False
        self._forget_old()
        report = self._reports.get(worker.uid)
        return None if report is None else report.executing

    def _forget_old(self) -> None:
        oldest_fresh = self._clock.monotonic() - self._fresh_seconds
        while self._reports:
            uid, report = next(iter(self._reports.items()))
            if report.at >= oldest_fresh:
                return
            del self._reports[uid]

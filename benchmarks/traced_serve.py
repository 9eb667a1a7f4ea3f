"""`mooring serve` that notes where the time of each claim goes, for `tail.py`.

Writes one JSON line a claim to the file MOORING_TRACE when it ends: milliseconds by step, and what disturbed the claim
meanwhile. A disturbance is a time in which the event loop ran nothing else: the garbage collector, or a callback that
took longer than `_LAG_SECONDS`.
"""

import asyncio
import atexit
import gc
import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mooring.api.direct_calls import DirectCalls
from mooring.cli.main import main
from mooring.controllers.claims.handover import Handover
from mooring.controllers.claims.stamps import Stamps
from mooring.ledger.postgres.claims import PostgresClaims

Method = Callable[..., Awaitable[Any]]
Span = tuple[float, float]

_LAG_SECONDS = 0.002
TRACED: tuple[tuple[type, str, str], ...] = (
    (DirectCalls, "_answer", "all"),
    (Handover, "_begin", "turn"),
    (PostgresClaims, "insert_claimed", "row"),
    (Stamps, "stamp", "stamp"),
    (PostgresClaims, "mark_running", "running"),
)


class Trace:
    """The spans of all claims, by the task that served them, and the disturbances."""

    def __init__(self) -> None:
        self._claims: list[dict[str, Span]] = []
        self._current: dict[asyncio.Task[Any], dict[str, Span]] = {}
        self._collections: list[Span] = []
        self._lags: list[Span] = []
        self._collecting = 0.0
        self._probe: asyncio.Task[None] | None = None

    def measure(self, step: str, method: Method) -> Method:
        """The method, with its time noted under the name of the step."""

        async def measured(*args: Any, **kwargs: Any) -> Any:
            task = asyncio.current_task()
            assert task is not None
            if step == "all":
                self._current[task] = {}
                self._probe = self._probe or asyncio.create_task(self._watch_loop())
            started = time.perf_counter()
            try:
                return await method(*args, **kwargs)
            finally:
                spans = self._current.get(task)
                if spans is not None:
                    spans[step] = (started, time.perf_counter())
                    if step == "all":
                        del self._current[task]
                        self._claims.append(spans)

        return measured

    def collected(self, phase: str, _: dict[str, int]) -> None:
        """A callback of the garbage collector."""
        if phase == "start":
            self._collecting = time.perf_counter()
        else:
            self._collections.append((self._collecting, time.perf_counter()))

    async def _watch_loop(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_LAG_SECONDS)
            after = time.perf_counter()
            if after - before > 2 * _LAG_SECONDS:
                self._lags.append((before + _LAG_SECONDS, after))

    def write(self) -> None:
        """One line for each claim that was handed over: others, such as releases, have no stamp."""
        with Path(os.environ["MOORING_TRACE"]).open("w", encoding="utf-8") as out:
            for spans in self._claims:
                if "stamp" in spans and "running" in spans:
                    times = {step: (end - start) * 1e3 for step, (start, end) in spans.items()}
                    began, ended = spans["all"]
                    times["at"] = began
                    times["collector"] = _overlap(self._collections, began, ended) * 1e3
                    times["blocked"] = _overlap(self._lags, began, ended) * 1e3
                    out.write(json.dumps(times) + "\n")


def _overlap(spans: list[Span], began: float, ended: float) -> float:
    return sum(max(0.0, min(end, ended) - max(start, began)) for start, end in spans)


if __name__ == "__main__":
    trace = Trace()
    for kind, name, step in TRACED:
        setattr(kind, name, trace.measure(step, getattr(kind, name)))
    gc.callbacks.append(trace.collected)
    atexit.register(trace.write)
    main()

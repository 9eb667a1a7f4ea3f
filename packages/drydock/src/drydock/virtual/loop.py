"""Virtual time: an event loop without threads or sockets that jumps to the next timer when nothing is ready.

A seed decides the order in which ready tasks take their steps; the same seed gives the same trace.
"""

import asyncio
import heapq
import sys
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from datetime import datetime
from typing import Any, Final, Never, TypeVar, TypeVarTuple

from drydock.virtual.real_waits import LoopWithoutIO, RealWait, is_guarded, real_waits_refused
from drydock.virtual.trace import Trace
from hawser.clock import Entropy, LoopClock
from hawser.errors import HawserError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_SAME_INSTANT_SECONDS: Final = 1e-9
_MANY_CANCELLED_TIMERS: Final = 256


class Deadlock(HawserError):
    """Every task waits, and no timer will ever wake one."""

    code = "virtual_deadlock"


class Livelock(HawserError):
    """Tasks keep each other busy and time stands still."""

    code = "virtual_livelock"


class Unattended(HawserError):
    """A task was dropped before it ended, or a failure without an exception was reported to the loop."""

    code = "virtual_unattended"


class _Task(asyncio.Task[T]):
    sequence = 0  # its place among all tasks of its loop


class VirtualLoop(LoopWithoutIO):
    """The loop. `time()` starts at 0 and moves only by jumping; `clock` shows it as calendar time from `start`."""

    def __init__(self, *, seed: int | None, start: datetime, livelock_turns: int = 1_000_000) -> None:
        self.clock = LoopClock(start)
        self.trace = Trace(self.time)
        self.unattended: list[BaseException] = []
        self._order = None if seed is None else Entropy(seed)
        self._livelock_turns = livelock_turns
        self._time = 0.0
        self._turns_at_this_time = 0
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_made = 0
        self._timers_cancelled = 0
        self._tasks: weakref.WeakSet[_Task[Any]] = weakref.WeakSet()
        self._tasks_made = 0
        self._generators: weakref.WeakSet[AsyncGenerator[Any, Any]] = weakref.WeakSet()
        self._closers: weakref.WeakSet[asyncio.Task[None]] = weakref.WeakSet()
        self._running = False
        self._closed = False
        self._debug = False

    @classmethod
    def running(cls) -> "VirtualLoop":
        """The virtual loop this code runs in."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, cls):
            raise RuntimeError("this code needs a virtual loop: start it with run_virtual()")
        return loop

    # -- running

    def run_until_complete(self, future: Any) -> Any:
        main = asyncio.ensure_future(future, loop=self)
        with self._entered():
            while not main.done():
                self._turn()
                if self.unattended:
                    raise self.unattended.pop(0)
        return main.result()

    @contextmanager
    def _entered(self) -> Iterator[None]:
        previous_hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self._generators.add, self._close_generator)
        asyncio._set_running_loop(self)
        self._running = True
        try:
            with real_waits_refused():
                yield
        finally:
            self._running = False
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*previous_hooks)

    def _turn(self) -> None:
        """Run what is ready now; when nothing is, jump to the next timer."""
        self._turns_at_this_time += 1
        if self._turns_at_this_time > self._livelock_turns:
            raise Livelock(
                f"{self._livelock_turns} turns of the loop, and it is still {self._time:.6f} s:\n{self._waiting()}",
                fix="look for a task that polls without waiting",
            )
        self._take_due_timers()
        batch = self._ready
        self._ready = []
        if self._order is not None:
            self._shuffle_task_steps(batch, self._order)
        for handle in batch:
            if not handle._cancelled:
                handle._run()

    def _take_due_timers(self) -> None:
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
            self._timers_cancelled -= 1
        if not self._ready:
            if not timers:
                raise Deadlock(
                    f"at {self._time:.6f} s nothing is ready and no timer is set:\n{self._waiting()}",
                    fix="look for a future that is never completed, or a queue that is never filled",
                )
            self._time = max(self._time, timers[0][0])
            self._turns_at_this_time = 0
        while timers and timers[0][0] <= self._time + _SAME_INSTANT_SECONDS:
            timer = heapq.heappop(timers)[2]
            timer._scheduled = False  # type: ignore[attr-defined]
            if timer._cancelled:
                self._timers_cancelled -= 1
            else:
                self._ready.append(timer)

    def _shuffle_task_steps(self, batch: list[asyncio.Handle], order: Entropy) -> None:
        # Only steps of different tasks change places, and never across a plain callback: asyncio's own
        # machinery (timeouts, gather, task groups) relies on plain callbacks running first in, first out.
        # Sorting first makes the outcome independent of sets of tasks, whose order is their memory address.
        begin = 0
        steps: list[tuple[int, asyncio.Handle]] = []
        for position, handle in enumerate(batch):
            task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]  # not in typeshed
            if isinstance(task, _Task):
                steps.append((task.sequence, handle))
                continue
            if len(steps) > 1:
                batch[begin:position] = self._shuffled(steps, order)
            else:
                self._note_steps(steps)
            begin = position + 1
            steps = []
        if len(steps) > 1:
            batch[begin:] = self._shuffled(steps, order)
        else:
            self._note_steps(steps)

    def _shuffled(self, steps: list[tuple[int, asyncio.Handle]], order: Entropy) -> list[asyncio.Handle]:
        steps.sort(key=_sequence)
        for last in range(len(steps) - 1, 0, -1):
            chosen = int(order.fraction() * (last + 1))
            steps[last], steps[chosen] = steps[chosen], steps[last]
        self._note_steps(steps)
        return [handle for _, handle in steps]

    def _note_steps(self, steps: list[tuple[int, asyncio.Handle]]) -> None:
        for sequence, _ in steps:
            self.trace.step(sequence)

    def _waiting(self) -> str:
        lines = []
        for task in self._tasks_in_order():
            if task.done():
                continue
            frames = task.get_stack(limit=1)
            place = f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else "not started"
            lines.append(f"  {task.get_name()} at {place}")
        return "\n".join(lines)

    def _tasks_in_order(self) -> list[_Task[Any]]:
        return sorted(self._tasks, key=lambda task: task.sequence)

    # -- ending

    def finish(self) -> list[BaseException]:
        """Cancel what is left, let it end, and return every failure that nobody has seen."""
        self._turns_at_this_time = 0
        with self._entered():
            left = [task for task in self._tasks_in_order() if not task.done()]
            for task in left:
                if task not in self._closers:
                    task.cancel()
            while not all(task.done() for task in left):
                self._turn()
            closing = self.create_task(self.shutdown_asyncgens())
            while not closing.done():
                self._turn()
        unseen = list(self.unattended)
        for task in self._tasks_in_order():
            if task._log_traceback and not task.cancelled():
                error = task.exception()
                if error is not None:
                    error.add_note(f"raised in {task.get_name()}, which was not awaited")
                    unseen.append(error)
        return unseen

    async def shutdown_asyncgens(self) -> None:
        for generator in list(self._generators):
            await generator.aclose()

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    # -- scheduling

    def time(self) -> float:
        return self._time

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self._closed:
            raise RuntimeError("the virtual loop is closed")
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if not is_guarded():
            raise RealWait("a call from another thread")
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._time + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        timer._scheduled = True  # type: ignore[attr-defined]  # asyncio's own mark for "in the heap"
        self._timers_made += 1
        heapq.heappush(self._timers, (when, self._timers_made, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if not handle._scheduled:  # type: ignore[attr-defined]
            return
        self._timers_cancelled += 1
        if self._timers_cancelled > max(_MANY_CANCELLED_TIMERS, len(self._timers) // 2):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapq.heapify(self._timers)
            self._timers_cancelled = 0

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> asyncio.Task[Any]:
        self._tasks_made += 1
        # asyncio numbers tasks over the whole process; a second run must see the same names.
        task: _Task[Any] = _Task(coro, loop=self, name=name or f"task-{self._tasks_made}", context=context)
        task.sequence = self._tasks_made
        self._tasks.add(task)
        return task

    def set_task_factory(self, factory: object) -> Never:
        raise NotImplementedError("the virtual loop makes its own tasks")

    def get_task_factory(self) -> None:
        return None

    def get_debug(self) -> bool:
        return self._debug

    def set_debug(self, enabled: bool) -> None:
        self._debug = enabled

    # -- failures

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = str(context.get("message", "a failure without a message"))
        if error is None:
            error = Unattended(f"{told}: {context.get('task') or context.get('future') or context}")
        error.add_note(told)
        self.unattended.append(error)

    default_exception_handler = call_exception_handler

    def set_exception_handler(self, handler: object) -> Never:
        raise NotImplementedError("in virtual time every failure ends the run")

    def get_exception_handler(self) -> None:
        return None

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators.discard(generator)
        if not self._closed:
            self._closers.add(self.create_task(_aclose(generator)))


def run_virtual(main: Callable[[], Coroutine[Any, Any, T]], *, seed: int | None, start: datetime) -> T:
    """Run `main` in virtual time to its end; `seed=None` keeps ready tasks first in, first out.

    Fails when a task failed and nobody looked, also when `main` itself went well.
    """
    loop = VirtualLoop(seed=seed, start=start)
    try:
        try:
            result: T = loop.run_until_complete(main())
        except BaseException as error:
            error.add_note(f"in virtual time, seed {seed}, {loop.trace.summary()}")
            for other in loop.finish():
                error.add_note(f"also failed: {other!r}")
            raise
        unseen = loop.finish()
    finally:
        loop.close()
    if len(unseen) == 1:
        raise unseen[0]
    if unseen:
        raise BaseExceptionGroup(f"{len(unseen)} tasks failed and their errors were not read (seed {seed})", unseen)
    return result


def _sequence(step: tuple[int, asyncio.Handle]) -> int:
    return step[0]


async def _aclose(generator: AsyncGenerator[Any, Any]) -> None:
    await generator.aclose()

"""Faults on purpose, at the ledger's port: every call is recorded and may be lost, answered never, or deadly.

`FaultyLedger` wraps any ledger; a `Fate` decides. It finds the calls by itself: a new method is covered unnamed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from inspect import iscoroutinefunction
from typing import Any, Protocol, cast

from mooring.ledger.port import Audit, Claims, Invariants, Ledger, Meta, Replicas
from mooring.ledger.records import Channel, Incarnation, Listener, Unlisten, Wake
from mooring.model.errors import Unavailable

_READS = frozenset(
    {"all", "count_by_pool", "count_open", "find_by_key", "get", "holds", "incarnation", "list", "live", "live_by_pods",
     "occupancy", "ping", "position", "queue", "time"}
)  # fmt: skip


class Fault(StrEnum):
    """What happens to a call."""

    NONE = "none"
    AWAY = "away"  # the ledger is not reached: nothing happens, the caller sees Unavailable
    LOSE_ANSWER = "lose_answer"  # it happens, the caller sees Unavailable
    CRASH_BEFORE = "crash_before"
    CRASH_AFTER = "crash_after"


@dataclass(frozen=True, slots=True)
class LedgerCall:
    """One call: the how-manieth of its process, and what it asked."""

    index: int
    noun: str
    method: str
    mutation: bool

    @property
    def path(self) -> str:
        return f"{self.noun}.{self.method}"


class Fate(Protocol):
    """Decides over the calls of one process."""

    def check(self) -> None:
        """Raise when the process is dead: asked before a call leaves and before its answer arrives."""
        ...

    def decide(self, call: LedgerCall) -> Fault: ...

    def crash(self, call: LedgerCall) -> BaseException:
        """Die of this call; what is returned is raised."""
        ...


class SimulatedCrash(BaseException):
    """The process is dead: no `except Exception` may catch it, as none would in a real death."""


class Script:
    """The plain fate: a function decides, and the process stays dead after a crash."""

    def __init__(self, decide: Callable[[LedgerCall], Fault] = lambda _: Fault.NONE) -> None:
        self.decide = decide
        self.dead = False

    def check(self) -> None:
        if self.dead:
            raise SimulatedCrash("the process is dead")

    def crash(self, call: LedgerCall) -> BaseException:
        self.dead = True
        return SimulatedCrash(call.path)


class FaultyLedger:
    """Implements `Ledger` around another one. `calls` has every call, also those that came to nothing."""

    def __init__(self, inner: Ledger, fate: Fate) -> None:
        self._inner = inner
        self._fate = fate
        self._listeners: list[tuple[Channel, Listener]] = []
        self.calls: list[LedgerCall] = []
        self.deaf = False
        self.claims = cast(Claims, _Disturbed(self, "claims", inner.claims))
        self.audit = cast(Audit, _Disturbed(self, "audit", inner.audit))
        self.invariants = cast(Invariants, _Disturbed(self, "invariants", inner.invariants))
        self.replicas = cast(Replicas, _Disturbed(self, "replicas", inner.replicas))
        self.meta = cast(Meta, _Disturbed(self, "meta", inner.meta))

    @property
    def incarnation(self) -> Incarnation:
        return self._inner.incarnation

    def listen(self, channel: Channel, listener: Listener) -> Unlisten:
        """While `deaf`, notifications are missed, as by a connection that is lost."""
        entry = (channel, listener)
        self._listeners.append(entry)
        unlisten = self._inner.listen(channel, lambda wake: None if self.deaf else listener(wake))

        def stop() -> None:
            unlisten()
            if entry in self._listeners:
                self._listeners.remove(entry)

        return stop

    def hear_again(self) -> None:
        """The connection is back: everyone looks at everything."""
        self.deaf = False
        for channel, listener in list(self._listeners):
            listener(Wake(channel, "", resync=True))

    async def notify(self, channel: Channel, payload: str) -> None:
        await self.run("ledger", "notify", lambda: self._inner.notify(channel, payload))

    async def close(self) -> None:
        await self._inner.close()

    async def run(self, noun: str, method: str, act: Callable[[], Any]) -> Any:
        """One call, as fate has it."""
        self._fate.check()
        call = LedgerCall(len(self.calls), noun, method, method not in _READS)
        self.calls.append(call)
        fault = self._fate.decide(call)
        if fault is Fault.CRASH_BEFORE:
            raise self._fate.crash(call)
        if fault is Fault.AWAY:
            raise Unavailable(f"injected: the ledger is away for {call.path}")
        answer = await act()
        self._fate.check()
        if fault is Fault.CRASH_AFTER:
            raise self._fate.crash(call)
        if fault is Fault.LOSE_ANSWER:
            raise Unavailable(f"injected: the answer of {call.path} is lost")
        return answer


class _Disturbed:
    """One noun of the ledger, with every method going through `FaultyLedger.run`."""

    def __init__(self, ledger: FaultyLedger, noun: str, inner: object) -> None:
        self._ledger = ledger
        self._noun = noun
        self._inner = inner

    def __getattr__(self, method: str) -> Callable[..., Any]:
        act = getattr(self._inner, method)
        if not iscoroutinefunction(act):
            raise AttributeError(f"{self._noun}.{method} is not a call")

        async def call(*arguments: object, **named: object) -> Any:
            return await self._ledger.run(self._noun, method, lambda: act(*arguments, **named))

        return call

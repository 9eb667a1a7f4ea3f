"""Fault injection at the ledger's interface: every call is recorded, and may fail, lose its answer or crash the caller.

`FaultyLedger` wraps any ledger; a `Fate` decides about each call. New methods of the ledger are covered automatically.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from inspect import iscoroutinefunction
from typing import Any, Protocol, cast

from mooring.ledger.demand import Demand
from mooring.ledger.history import History
from mooring.ledger.identity import Meta
from mooring.ledger.liveness import Liveness
from mooring.ledger.page_sessions import Sessions
from mooring.ledger.port import Audit, Claims, Invariants, Ledger, Replicas, Revocations
from mooring.ledger.records import Channel, Incarnation, Listener, Unlisten, Wake
from mooring.ledger.usage import Usage
from mooring.model.errors import Unavailable
from mooring.model.seal import SealKey

_READS = frozenset(
    {"all", "count_by_pool", "count_completed", "count_ended", "count_open", "counts", "expired_on", "find",
     "find_by_key", "find_by_prefix", "get", "heads", "holds", "incarnation", "issued_epoch", "list",
     "live", "live_by_pods", "load", "occupancy", "of_all", "of_pool", "ping", "position", "queue", "read",
     "served_by_owner", "succeeds", "summarised_until", "time", "waiting"}
)  # fmt: skip


class Fault(StrEnum):
    """What happens to a call."""

    NONE = "none"
    AWAY = "away"  # the ledger is not reached: nothing is written, the caller gets Unavailable
    LOSE_ANSWER = "lose_answer"  # the write takes effect, the caller gets Unavailable
    CRASH_BEFORE = "crash_before"
    CRASH_AFTER = "crash_after"


@dataclass(frozen=True, slots=True)
class LedgerCall:
    """One call: its index within the process, and its method."""

    index: int
    noun: str
    method: str
    mutation: bool

    @property
    def path(self) -> str:
        return f"{self.noun}.{self.method}"


class Fate(Protocol):
    """Decides about the calls of one process."""

    def check(self) -> None:
        """Raise if the process is dead. Called before a call leaves and before its answer arrives."""
        ...

    def decide(self, call: LedgerCall) -> Fault: ...

    def crash(self, call: LedgerCall) -> BaseException:
        """Crash at this call; the returned exception is raised."""
        ...


class SimulatedCrash(BaseException):
    """The process is dead. Not an `Exception`, so that no handler catches it, as none would after a real crash."""


class Script:
    """A fate that asks a function about each call; the process stays dead after a crash."""

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
    """Implements `Ledger` around another one. `calls` has every call, also failed ones."""

    def __init__(self, inner: Ledger, fate: Fate) -> None:
        self._inner = inner
        self._fate = fate
        self._listeners: list[tuple[Channel, Listener]] = []
        self.calls: list[LedgerCall] = []
        self.deaf = False
        self.claims = cast(Claims, _Disturbed(self, "claims", inner.claims))
        self.audit = cast(Audit, _Disturbed(self, "audit", inner.audit))
        self.revocations = cast(Revocations, _Disturbed(self, "revocations", inner.revocations))
        self.invariants = cast(Invariants, _Disturbed(self, "invariants", inner.invariants))
        self.replicas = cast(Replicas, _Disturbed(self, "replicas", inner.replicas))
        self.liveness = cast(Liveness, _Disturbed(self, "liveness", inner.liveness))
        self.sessions = cast(Sessions, _Disturbed(self, "sessions", inner.sessions))
        self.history = cast(History, _Disturbed(self, "history", inner.history))
        self.demand = cast(Demand, _Disturbed(self, "demand", inner.demand))
        self.usage = cast(Usage, _Disturbed(self, "usage", inner.usage))
        self.meta = cast(Meta, _Disturbed(self, "meta", inner.meta))

    @property
    def incarnation(self) -> Incarnation:
        return self._inner.incarnation

    @property
    def seal_key(self) -> SealKey:
        return self._inner.seal_key

    def listen(self, channel: Channel, listener: Listener) -> Unlisten:
        """While `deaf`, notifications are lost, as on a broken connection."""
        entry = (channel, listener)
        self._listeners.append(entry)
        unlisten = self._inner.listen(channel, lambda wake: None if self.deaf else listener(wake))

        def stop() -> None:
            unlisten()
            if entry in self._listeners:
                self._listeners.remove(entry)

        return stop

    def hear_again(self) -> None:
        """The connection is back: every listener gets a resync."""
        self.deaf = False
        for channel, listener in list(self._listeners):
            listener(Wake(channel, "", resync=True))

    async def notify(self, channel: Channel, payload: str) -> None:
        await self.run("ledger", "notify", lambda: self._inner.notify(channel, payload))

    async def close(self) -> None:
        await self._inner.close()

    async def run(self, noun: str, method: str, act: Callable[[], Any]) -> Any:
        """One call, with the fault that the fate decides."""
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
    """One part of the ledger, with every method going through `FaultyLedger.run`."""

    def __init__(self, ledger: FaultyLedger, noun: str, inner: object) -> None:
        self._ledger = ledger
        self._noun = noun
        self._inner = inner

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if not iscoroutinefunction(getattr(self._inner, method)):
            raise AttributeError(f"{self._noun}.{method} is not a call")

        async def call(*arguments: object, **named: object) -> Any:
            return await self._ledger.run(self._noun, method, lambda: getattr(self._inner, method)(*arguments, **named))

        setattr(self, method, call)  # found directly from now on
        return call

"""One simulated process: every call it makes to the outside, and whether it still lives.

A process that died stays dead: its cleanup code runs in the simulation, but none of its calls get out.
Other ports, such as a ledger, can share a process with the transport, so that one count covers all of its calls.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


class Crashed(BaseException):
    """The process is dead. No `except Exception` may catch it, as none would in a real death."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call. `index` is its place among all calls, the same in every run of the same seed."""

    index: int
    life: int
    method: str
    path: str
    mutation: bool
    effects: tuple[str, ...]


class Process:
    """What a process called, over all of its lives."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.fired: Counter[str] = Counter()
        self.life = 1
        self.alive = True

    @property
    def mutations(self) -> int:
        """How many calls could change something."""
        return sum(call.mutation for call in self.calls)

    def begin(self, method: str, path: str, *, mutation: bool, effects: Sequence[str] = ()) -> Call:
        """Note a call, before anything of it happens."""
        call = Call(len(self.calls), self.life, method, path, mutation, tuple(effects))
        self.calls.append(call)
        self.fired.update(effects)
        return call

    def check(self, life: int) -> None:
        """Raise when the process of that life is dead."""
        if not self.alive or life != self.life:
            raise Crashed(f"life {life} is over")

    def crash(self, reason: str) -> Crashed:
        """Die; raise what this returns."""
        self.alive = False
        return Crashed(reason)

    def restart(self) -> None:
        """Begin the next life. What is left of the last one stays dead."""
        self.alive = True
        self.life += 1

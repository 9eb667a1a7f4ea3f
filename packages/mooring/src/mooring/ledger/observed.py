"""Observation at the ledger's interface: each transition of a claim is reported once, by the replica that wrote it.

Only a write that took effect by this very call is reported. A repeat after a lost answer finds the row changed already
and is not: counting such a transition nowhere is better than counting it twice.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, cast

from mooring.ledger.port import Claims, Ledger
from mooring.model.claim import Claim, Outcome, Verdict


class Observer(Protocol):
    """Receives claims as they are after a transition. Must not wait."""

    def handed_over(self, claim: Claim) -> None: ...

    def requeued(self, claim: Claim) -> None: ...

    def ended(self, claim: Claim) -> None: ...


def observe(ledger: Ledger, observer: Observer) -> Ledger:
    """The same ledger, with the transitions of its claims reported."""
    return cast(Ledger, _ObservedLedger(ledger, observer))


class _ObservedLedger:
    """All parts of a ledger, as they are, and its claims, observed."""

    def __init__(self, inner: Ledger, observer: Observer) -> None:
        self._inner = inner
        self.claims = _ObservedClaims(inner.claims, observer)

    def __getattr__(self, part: str) -> Any:
        return getattr(self._inner, part)


class _ObservedClaims:
    """Claims, with the answers of every method looked at: new methods are covered by what they return."""

    def __init__(self, inner: Claims, observer: Observer) -> None:
        self._inner = inner
        self._observer = observer

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        act = getattr(self._inner, method)

        async def call(*arguments: object, **named: object) -> Any:
            answer = await act(*arguments, **named)
            if isinstance(answer, Outcome):
                self._judge(method, answer)
            elif method == "expire_waiting":
                for claim in answer:
                    self._observer.ended(claim)
            return answer

        setattr(self, method, call)  # found directly from now on
        return call

    def _judge(self, method: str, outcome: Outcome) -> None:
        claim = outcome.claim
        if outcome.verdict is not Verdict.DONE or claim is None:
            return
        if claim.ended_at is not None:
            self._observer.ended(claim)
        elif method == "mark_running":
            self._observer.handed_over(claim)
        elif method == "requeue":
            self._observer.requeued(claim)

"""What happens to an exchange whose worker is lost: it is repeated on another worker, or its client gets an error.

Repeated are only reads and what its author marked as safe, and only while the client has seen nothing of the result.
"""

from dataclasses import dataclass

from mooring_postgres_gateway.failures import (
    CANCELLED,
    OUTCOME_UNKNOWN,
    SERIALIZATION_FAILURE,
    WORKER_LOST,
    SessionError,
)
from mooring_postgres_gateway.statements import Kind
from mooring_postgres_gateway.unit import Unit
from mooring_postgres_gateway.wire.bodies import FAILED, IDLE, IN_TRANSACTION

MOST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Transaction:
    """The transaction of a session. `begin` is the statement that began it, `done` what ran in it since then."""

    status: bytes = IDLE
    begin: str = ""
    done: frozenset[Kind] = frozenset()

    @property
    def fresh(self) -> bool:
        """Nothing depends on the worker: no transaction, or one that has only begun."""
        return self.status == IDLE or (self.status == IN_TRANSACTION and not self.done)


@dataclass(frozen=True, slots=True)
class Loss:
    """A worker is lost. `refused`: it said that it has not begun; `revoked`: an operator ended the claim."""

    reason: str
    refused: bool = False
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run it again. `transaction` is what the next worker begins with."""

    transaction: Transaction


@dataclass(frozen=True, slots=True)
class Fail:
    """Report an error; afterwards the transaction has this status."""

    error: SessionError
    status: bytes


def plan_after_loss(unit: Unit, transaction: Transaction, loss: Loss, *, pinned: bool) -> Repeat | Fail:
    """The decision for an exchange in flight."""
    if pinned:
        return Fail(_state_lost(loss), IDLE)
    untouched = loss.refused or not unit.begun
    only_rollback = bool(unit.natures) and all(nature.kind is Kind.ROLLBACK for nature in unit.natures)
    if not transaction.fresh and (transaction.status == FAILED or only_rollback) and not unit.result_sent:
        return _repeat(unit, Transaction(FAILED), loss)  # the worker's end has rolled it back
    if not transaction.fresh:
        return Fail(_transaction_lost(unit, transaction, loss), FAILED)
    if unit.copying and not unit.copied:
        message = f"the worker was lost before all rows had arrived: {loss.reason}"
        error = SessionError(SERIALIZATION_FAILURE, message, hint="nothing was stored; copy again")
        return Fail(error, _status_after(unit, transaction))
    if unit.result_sent:
        return Fail(_result_cut(unit, loss), _status_after(unit, transaction))
    if untouched or all(nature.repeatable for nature in unit.natures):
        return _repeat(unit, transaction, loss)
    return Fail(_unknown(loss), _status_after(unit, transaction))


def plan_idle_loss(loss: Loss, *, pinned: bool) -> SessionError | None:
    """The error for a client that waits for nothing; None if the session can continue on another worker."""
    return _state_lost(loss) if pinned else None


def _repeat(unit: Unit, transaction: Transaction, loss: Loss) -> Repeat | Fail:
    status = FAILED if transaction.status == FAILED else _status_after(unit, transaction)
    if unit.cancelled:
        return Fail(SessionError(CANCELLED, "canceling statement due to user request"), status)
    if loss.revoked or unit.attempts >= MOST_ATTEMPTS or not unit.kept:
        message = f"the worker was lost: {loss.reason}"
        return Fail(SessionError(WORKER_LOST, message, hint="nothing was changed; run the statement again"), status)
    return Repeat(transaction)


def _status_after(unit: Unit, transaction: Transaction) -> bytes:
    """Of a session whose statement failed: a transaction that was open, or would be, has failed."""
    opened = transaction.status == IN_TRANSACTION
    for nature in unit.natures:
        if nature.kind in (Kind.BEGIN, Kind.COMMIT, Kind.ROLLBACK):
            opened = nature.kind is Kind.BEGIN
    return FAILED if opened else IDLE


def _state_lost(loss: Loss) -> SessionError:
    message = f"the worker of this session was lost, and with it the objects that the session created: {loss.reason}"
    return SessionError(WORKER_LOST, message, hint="connect again", fatal=True)


def _transaction_lost(unit: Unit, transaction: Transaction, loss: Loss) -> SessionError:
    kinds = {*transaction.done, *(nature.kind for nature in unit.natures)}
    wrote = bool(kinds & {Kind.WRITE, Kind.COPY_IN})
    if Kind.EXPORT in kinds or (wrote and Kind.COMMIT in kinds and not loss.refused):
        return _unknown(loss)
    message = f"the transaction is rolled back because its worker was lost: {loss.reason}"
    return SessionError(SERIALIZATION_FAILURE, message, hint="run the transaction again")


def _result_cut(unit: Unit, loss: Loss) -> SessionError:
    if not all(nature.harmless for nature in unit.natures):
        return _unknown(loss)
    message = f"the worker was lost after a part of the result had been sent: {loss.reason}"
    return SessionError(SERIALIZATION_FAILURE, message, hint="nothing was changed; run the statement again")


def _unknown(loss: Loss) -> SessionError:
    message = f"the worker was lost, and it is not known whether the statement took effect: {loss.reason}"
    return SessionError(OUTCOME_UNKNOWN, message, hint="look whether it did before you run it again")


def compute_transaction(before: Transaction, unit: Unit, status: bytes) -> Transaction:
    """After an exchange that ended with this status."""
    if status != IN_TRANSACTION:
        return Transaction(status)
    begin, done = before.begin, set(before.done)
    for nature in unit.natures:
        if nature.kind is Kind.BEGIN:
            begin, done = nature.text, set()
        elif nature.kind in (Kind.COMMIT, Kind.ROLLBACK):
            done = set()
        else:
            done.add(nature.kind)
    return Transaction(status, begin, frozenset(done))

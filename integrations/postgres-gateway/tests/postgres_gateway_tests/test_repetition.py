"""What happens to an exchange whose worker is lost."""

import pytest

from mooring_postgres_gateway.repetition import Fail, Loss, Repeat, Transaction, compute_transaction, plan_after_loss
from mooring_postgres_gateway.statements import Kind
from mooring_postgres_gateway.unit import Unit
from mooring_postgres_gateway.wire.bodies import FAILED, IDLE, IN_TRANSACTION, SYNC, Bind, Execute, Parse
from mooring_postgres_gateway.wire.frames import Message, encode_text

LOSS = Loss("its node is gone")
OPEN = Transaction(IN_TRANSACTION, "BEGIN")
READ_ON = Transaction(IN_TRANSACTION, "BEGIN", frozenset({Kind.READ}))
WROTE = Transaction(IN_TRANSACTION, "BEGIN", frozenset({Kind.WRITE}))
EXPORTED = Transaction(IN_TRANSACTION, "BEGIN", frozenset({Kind.EXPORT}))
INSERT = "INSERT INTO t VALUES (1)"
SAFE = "/* mooring:safe */ COPY t TO 'file'"


def simple(text: str, delivered: str = "", **changes) -> Unit:
    unit = Unit({})
    unit.take(Message(b"Q", encode_text(text)))
    unit.begun = True
    unit.delivered = [letter.encode() for letter in delivered]
    for name, value in changes.items():
        setattr(unit, name, value)
    return unit


@pytest.mark.parametrize(
    "unit, transaction, loss",
    [
        (simple("SELECT 1"), Transaction(), LOSS),
        (simple("SELECT 1", "T"), Transaction(), LOSS),
        (simple("SELECT 1"), OPEN, LOSS),
        (simple(SAFE), Transaction(), LOSS),
        (simple("SET x = 1"), Transaction(), LOSS),
        (simple(INSERT), Transaction(), Loss("it drains", refused=True)),
        (simple(INSERT, begun=False), Transaction(), LOSS),
        (simple("ROLLBACK"), WROTE, LOSS),
        (simple("ROLLBACK"), Transaction(FAILED), LOSS),
    ],
)
def test_repeated(unit, transaction, loss):
    assert isinstance(plan_after_loss(unit, transaction, loss, pinned=False), Repeat)


@pytest.mark.parametrize(
    "unit, transaction, loss, state, status",
    [
        (simple("SELECT 1", "TD"), Transaction(), LOSS, "40001", IDLE),
        (simple("SELECT 1", "TDC"), OPEN, LOSS, "40001", FAILED),
        (simple("SELECT 1"), READ_ON, LOSS, "40001", FAILED),
        (simple(INSERT), WROTE, LOSS, "40001", FAILED),
        (simple("COMMIT"), WROTE, LOSS, "08007", FAILED),
        (simple("COMMIT"), WROTE, Loss("idle", refused=True), "40001", FAILED),
        (simple("COMMIT"), READ_ON, LOSS, "40001", FAILED),
        (simple("SELECT 1"), EXPORTED, LOSS, "08007", FAILED),
        (simple(INSERT), Transaction(), LOSS, "08007", IDLE),
        (simple("BEGIN; SELECT 1; INSERT INTO t VALUES (1)"), Transaction(), LOSS, "08007", FAILED),
        (simple("SELECT 1; " + INSERT, "TDC"), Transaction(), LOSS, "08007", IDLE),
        (simple(SAFE, "C"), Transaction(), LOSS, "08007", IDLE),
        (simple("COPY t FROM STDIN", "G", copying=True), Transaction(), LOSS, "40001", IDLE),
        (simple("COPY t FROM STDIN", "G", copied=True), Transaction(), LOSS, "08007", IDLE),
        (simple("SELECT 1", cancelled=True), Transaction(), LOSS, "57014", IDLE),
        (simple("SELECT 1", attempts=5), Transaction(), LOSS, "57P01", IDLE),
        (simple("SELECT 1", kept=False), Transaction(), LOSS, "57P01", IDLE),
        (simple("SELECT 1"), Transaction(), Loss("an operator", revoked=True), "57P01", IDLE),
    ],
)
def test_reported(unit, transaction, loss, state, status):
    decision = plan_after_loss(unit, transaction, loss, pinned=False)
    assert isinstance(decision, Fail)
    assert (decision.error.state, decision.status, decision.error.fatal) == (state, status, False)


@pytest.mark.parametrize("text", ["SELECT 1", INSERT, SAFE, "ROLLBACK"])
def test_a_session_with_objects_on_its_worker_ends_with_it(text):
    decision = plan_after_loss(simple(text), Transaction(), LOSS, pinned=True)
    assert isinstance(decision, Fail)
    assert (decision.error.state, decision.error.fatal) == ("57P01", True)


def test_a_prepared_write_is_a_write_when_it_is_executed_later():
    known: dict = {}
    first = Unit(known)
    first.take(Parse("s", INSERT).encode())
    first.take(SYNC)
    first.answer(Message(b"1"))
    second = Unit(known)
    for message in (Bind("", "s").encode(), Execute("").encode(), SYNC):
        second.take(message)
    second.begun = True
    assert not first.natures
    assert isinstance(plan_after_loss(second, Transaction(), LOSS, pinned=False), Fail)


def test_a_portal_that_is_not_known_counts_as_a_write():
    unit = Unit({})
    unit.take(Execute("from nowhere").encode())
    assert not unit.natures[0].repeatable


def test_a_transaction_is_fresh_until_something_ran_in_it():
    begun = compute_transaction(Transaction(), simple("BEGIN READ ONLY"), IN_TRANSACTION)
    assert begun.fresh and begun.begin == "BEGIN READ ONLY"
    assert not compute_transaction(begun, simple("SELECT 1"), IN_TRANSACTION).fresh
    assert compute_transaction(WROTE, simple("COMMIT"), IDLE) == Transaction()

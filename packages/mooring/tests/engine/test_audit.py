"""The trail: every act has a row before it, and the row says how it ended."""

import asyncio

import pytest

from hawser.clock import Entropy, SystemClock
from hawser.errors import ConnectionFailed
from mooring.engine.audit import DONE, Auditor, Result
from mooring.ledger.records import AuditFilter
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.audit import AuditOutcome, AuditRecord, Subject
from mooring.model.errors import Conflict, Unavailable


class Trail:
    """An auditor over a ledger in memory."""

    def __init__(self) -> None:
        clock = SystemClock()
        self.ledger = MemoryLedger(MemoryStore(), clock=clock, entropy=Entropy(1))
        self.auditor = Auditor(self.ledger, clock, Entropy(2), "a", lambda: 1)

    async def after(self, failure: BaseException | None = None) -> AuditRecord:
        """The row of an act that ends so."""

        async def act() -> Result:
            before = await self.ledger.audit.list(AuditFilter())
            assert before.items[0].outcome is AuditOutcome.PENDING
            if failure is not None:
                raise failure
            return DONE

        try:
            await self.auditor.carry_out(
                act, actor="ann", action="pause", subject=Subject("Invariant", "", "x"), reason="", evidence={}
            )
        except BaseException as error:  # noqa: BLE001 - what the act raised is what its caller gets
            assert error is failure
        return (await self.ledger.audit.list(AuditFilter())).items[0]


async def test_an_act_that_succeeds_is_recorded_as_done():
    row = await Trail().after()
    assert (row.outcome, row.error) == (AuditOutcome.DONE, "")


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Conflict("somebody else was first"), "somebody else was first"),
        (RuntimeError("no such column"), "RuntimeError('no such column')"),
        (KeyError("rule"), "KeyError('rule')"),
        (ConnectionFailed("reset"), "reset"),
    ],
)
async def test_an_act_that_dies_is_recorded_as_failed_with_its_error(failure: Exception, words: str):
    row = await Trail().after(failure)
    assert row.outcome is AuditOutcome.FAILED and words in row.error


async def test_an_act_whose_answer_is_missing_is_recorded_as_possibly_effective():
    row = await Trail().after(Unavailable("no answer"))
    assert row.outcome is AuditOutcome.FAILED and "may have taken effect" in row.error


async def test_an_act_that_is_interrupted_stays_pending():
    assert (await Trail().after(asyncio.CancelledError())).outcome is AuditOutcome.PENDING

"""The writing routes of `/v1/invariants`: the kill switches. Every flip is audited with its reason."""

from typing import Annotated

import msgspec
from litestar import post
from msgspec import Meta

from mooring.api.given import GivenClock, GivenEntropy, GivenLedger
from mooring.clock import Clock, Entropy
from mooring.control.switches import Switches
from mooring.ledger.port import Ledger
from mooring.ledger.records import InvariantState
from mooring.model.audit import AuditEntry, AuditOutcome, Subject


class SwitchRequest(msgspec.Struct, frozen=True):
    """Who flips the switch, and why."""

    reason: Annotated[str, Meta(max_length=500)] = ""
    actor: Annotated[str, Meta(min_length=1, max_length=253)] = "api"


@post("/v1/invariants/{rule:str}/pause", tags=["invariants"], summary="Stop a rule from acting", status_code=200)
async def pause_invariant(
    rule: str,
    data: SwitchRequest | None,
    switches: Switches,
    ledger: GivenLedger,
    clock: GivenClock,
    entropy: GivenEntropy,
) -> InvariantState:
    """Off for all replicas, over restarts, until resumed."""
    wish = data or SwitchRequest()
    state = await switches.pause(rule, actor=wish.actor, reason=wish.reason)
    await _audit("pause", rule, wish, ledger, clock, entropy)
    return state


@post("/v1/invariants/{rule:str}/resume", tags=["invariants"], summary="Let a rule act again", status_code=200)
async def resume_invariant(
    rule: str,
    data: SwitchRequest | None,
    switches: Switches,
    ledger: GivenLedger,
    clock: GivenClock,
    entropy: GivenEntropy,
) -> InvariantState:
    """On again."""
    wish = data or SwitchRequest()
    state = await switches.resume(rule, actor=wish.actor)
    await _audit("resume", rule, wish, ledger, clock, entropy)
    return state


async def _audit(action: str, rule: str, wish: SwitchRequest, ledger: Ledger, clock: Clock, entropy: Entropy) -> None:
    entry = AuditEntry(
        id=entropy.uuid(),
        at=clock.now(),
        actor=wish.actor,
        replica="",
        action=action,
        subject=Subject("Invariant", "", rule),
        reason=wish.reason,
        evidence={},
    )
    await ledger.audit.record(entry, AuditOutcome.DONE)

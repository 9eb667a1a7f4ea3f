"""Why a claim is lost, from what the server reports about it. No I/O."""

from collections.abc import Mapping
from datetime import datetime

from mooring.client.errors import LeaseLost, LossCause, RemoteError, WaitRevoked
from mooring.client.records import ClaimView
from mooring.model.claim import EndCause

_WORKER_LOSSES: Mapping[str, LossCause] = {
    EndCause.DRAINED: LossCause.DRAINED,
    EndCause.WORKER_LOST: LossCause.EVICTED,
    EndCause.FORGOTTEN: LossCause.EVICTED,
}
_LOSSES: Mapping[str, LossCause] = {
    **_WORKER_LOSSES,
    EndCause.EXPIRED: LossCause.EXPIRED,
    EndCause.WAIT_OVER: LossCause.EXPIRED,
    EndCause.ABANDONED: LossCause.ABANDONED,
    EndCause.RELEASED: LossCause.REVOKED,
    EndCause.REVOKED: LossCause.REVOKED,
    EndCause.NOT_STARTED: LossCause.REVOKED,
}
_LOSS_BY_STATE = {"expired": LossCause.EXPIRED, "lost": LossCause.EVICTED}  # of servers that report no cause


def is_final(error: RemoteError) -> bool:
    """Whether a refused renewal or release means that the claim is over. Other errors may pass."""
    return error.status in (404, 409)


def read_revocation(error: RemoteError, now: datetime) -> WaitRevoked:
    """The loss of a claim that an operator revoked while it waited."""
    claim_id, reason, at = (str(error.detail.get(name) or "") for name in ("claim", "reason", "at"))
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        moment = now
    return WaitRevoked(claim_id, moment, reason or error.message)


def classify_loss(claim_id: str, epoch: int, found: ClaimView | None, now: datetime) -> LeaseLost:
    """The loss of a claim that was held under this epoch, from its state now."""
    if found is None:
        return LeaseLost(claim_id, LossCause.REVOKED, now, "there is no such claim any more")
    cause = found.cause or ""
    if found.epoch != epoch:  # the cause says why it left its worker; its later end concerns another holder
        loss, message = _WORKER_LOSSES.get(cause, LossCause.EVICTED), "it was moved to another worker"
    else:
        loss = _LOSSES.get(cause) or _LOSS_BY_STATE.get(found.state, LossCause.REVOKED)
        message = f"it is {found.state}"
    return LeaseLost(claim_id, loss, found.ended_at or now, found.reason or message)

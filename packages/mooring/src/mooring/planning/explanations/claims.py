"""Why a claim waits, runs or has ended. It is computed for every claim that is served, so it must be cheap."""

from collections.abc import Sequence

from mooring.model.claim import Claim, ClaimState
from mooring.model.time_format import describe_moment
from mooring.model.why import Why, place_in_line
from mooring.planning.actions import earliest

NAMED = 20  # claims of an owner


def explain_claim(claim: Claim) -> Why:
    """From the row alone."""
    match claim.state:
        case ClaimState.RUNNING:
            return Why("running", f"runs on {claim.pod_name}", claim.running_at or claim.claimed_at)
        case ClaimState.CLAIMED:
            return Why("claimed", f"bound to {claim.pod_name}, not running yet", claim.claimed_at)
        case ClaimState.QUEUED:
            return explain_place(claim, None, None)
    code = claim.cause.value if claim.cause is not None else claim.state.value
    return Why(code, claim.reason or f"it is {claim.state.value}", claim.ended_at)


def explain_place(
    claim: Claim, position: int | None, shortage: Why | None, expected_seconds: float | None = None
) -> Why:
    """The place of a claim in the queue, and the reason why no worker of its pool is free."""
    soon = "" if expected_seconds is None else f", expected in about {expected_seconds:.0f} s"
    again = f"; {claim.reason}" if claim.rebinds and claim.reason else ""
    ahead = (f"{position - 1} claim(s) are served before it",) if position is not None and position > 1 else ()
    return Why(
        code="queued",
        message=f"waits for a worker of {claim.namespace}/{claim.pool}{place_in_line(position)}{soon}{again}",
        since=claim.queued_at or claim.created_at,
        blockers=(*(shortage.blockers if shortage else ()), *ahead),
        next_check=earliest(claim.wait_until, shortage.next_check if shortage else None),
        fix=shortage.fix if shortage else "",
    )


def explain_limit(pool_key: str, owner: str, limit: int, held: Sequence[Claim], total: int) -> Why:
    """Why an owner gets no further claim; `held` has the newest of its `total` open claims."""
    rest = (f"and {total - len(held)} more",) if total > len(held) else ()
    return Why(
        code="limit_reached",
        message=f"{owner} holds {total} of at most {limit} open claims on {pool_key}",
        since=held[0].created_at if held else None,
        blockers=(*(_describe(claim) for claim in held), *rest),
        next_check=None,
        fix=f"release a claim, or raise limits.perOwner: mooring claims --pool {pool_key} --owner {owner}",
    )


def explain_full_queue(pool_key: str, limit: int, shortage: Why, owner: str = "") -> Why:
    """Why a claim may not wait for a worker of the pool; `owner` is named where the limit is one of each owner."""
    whose = f" of {owner}" if owner else ""
    return Why(
        code="queue_full",
        message=f"at most {limit} claims{whose} may wait for {pool_key}, and as many do: {shortage.message}",
        since=shortage.since,
        blockers=shortage.blockers,
        next_check=shortage.next_check,
        fix=f"ask again later, raise limits.maxQueued, or: {shortage.fix}",
    )


def _describe(claim: Claim) -> str:
    why = explain_claim(claim)
    since = describe_moment(why.since or claim.created_at)
    where = f" on worker/{claim.namespace}/{claim.pod_name}" if claim.pod_name else ""
    return f"claim/{claim.id} {claim.state.value}{where} since {since}"

"""Why a Warmup is not completely warm: the missing shards, grouped by reason."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from mooring.model.warm_data import SETTLED
from mooring.model.warmup import Phase, ShardState, ShardStatus, Warmup
from mooring.model.why import Why
from mooring.planning.warmups.reclaim import PATIENCE as RECLAIM_PATIENCE


def explain_warmup(warmup: Warmup) -> Why:
    """From its status: conditions and shards."""
    status = warmup.status
    if warmup.terminating:
        return _explain_deletion(warmup)
    if not status.phase:
        return Why("not_reconciled", "not reconciled yet", warmup.created_at, fix="mooring doctor")
    invalid = next((one for one in status.conditions if one.type == "Valid" and one.status == "False"), None)
    if invalid is not None:
        edit = f"kubectl edit warmup {warmup.name} -n {warmup.namespace}"
        return Why("invalid_spec", invalid.message, invalid.since or warmup.created_at, fix=edit)
    circuit = status.circuit
    is_open = circuit is not None and circuit.is_open
    message = [f"{len(circuit.failures)} Jobs ended badly, none is made"] if circuit is not None and is_open else []
    if warmup.rewarm_wish:
        message.append("a re-warm that was asked for waits for nodes")
    return Why(
        code=status.phase.lower(),
        message=status.reason or status.phase,
        since=_since(warmup),
        blockers=(*message, *_describe_shards(status.shards)),
        next_check=circuit.open_until if circuit is not None and is_open else None,
        fix=_fix(warmup, is_open),
    )


def _explain_deletion(warmup: Warmup) -> Why:
    """What its deletion waits for: folders whose data is not removed yet."""
    since = warmup.terminating_since or warmup.created_at
    open_copies = [copy for copy in warmup.status.copies if copy.state and copy.state not in SETTLED]
    if not open_copies:
        return Why("terminating", "the warmup is being deleted", since)
    patch = """kubectl patch warmup %s -n %s --type=merge -p '{"spec":{"reclaim":"Keep"}}'"""
    return Why(
        code="terminating",
        message=warmup.status.reason,
        since=since,
        blockers=tuple(f"{copy.path} on node/{copy.node} {copy.state}: {copy.why}" for copy in open_copies),
        next_check=since + RECLAIM_PATIENCE,
        fix=patch % (warmup.name, warmup.namespace),
    )


def _since(warmup: Warmup) -> datetime:
    """When its last Job failed, if it failed; otherwise the last transition of Ready."""
    status = warmup.status
    failures = status.circuit.failures if status.circuit else ()
    failed = [failure.at for failure in failures if failure.at is not None]
    if status.phase == Phase.FAILED and failed:
        return max(failed)
    ready = next((one.since for one in status.conditions if one.type == "Ready"), None)
    return ready or warmup.created_at


def _describe_shards(shards: Iterable[ShardStatus]) -> tuple[str, ...]:
    groups: dict[tuple[str, str], list[ShardStatus]] = defaultdict(list)
    for shard in shards:
        if shard.state != ShardState.DONE:
            groups[shard.state, shard.why].append(shard)
    return tuple(
        f"{len(group)} shard(s) {state}{': ' + why if why else ''} ({', '.join(map(_name, group))})"
        for (state, why), group in sorted(groups.items())
    )


def _name(shard: ShardStatus) -> str:
    return f"{shard.shard} on node/{shard.node}" if shard.node else str(shard.shard)


def _fix(warmup: Warmup, circuit_open: bool) -> str:
    if circuit_open:
        return f"mooring warm {warmup.key} --close-circuit"
    return "" if warmup.status.phase == Phase.READY else f"mooring warmups {warmup.key}"

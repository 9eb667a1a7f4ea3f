"""`mooring pause` and `mooring resume`: the kill switch of an invariant."""

from urllib.parse import quote

from mooring.cli.output import Row
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import NotFound
from mooring.model.suggestions import suggest


def pause(invariant_id: str, options: MutationOptions, endpoint: Endpoint) -> None:
    """Stop it from acting, on all replicas. Asks for confirmation on a terminal."""
    found = _find_invariant(invariant_id, endpoint)
    impact = (
        f"invariant/{invariant_id} will not act on any replica until it is resumed: {found['rule']}",
        f"now {found['state']}: {found['broken']} broken, {found['healed']} healed;"
        f" not done while it is paused: {found['remedy']}",
    )
    outcome = f"invariant/{invariant_id} paused: it will not act until resumed"
    _switch("pause", found, impact, outcome, options, endpoint)


def resume(invariant_id: str, options: MutationOptions, endpoint: Endpoint) -> None:
    """Let it act again."""
    found = _find_invariant(invariant_id, endpoint)
    state = f"paused by {found['pausedBy']}" if found["paused"] else "not paused"
    reason = f" ({found['pauseReason']})" if found["paused"] and found["pauseReason"] else ""
    impact = (f"invariant/{invariant_id}, {state}{reason}, acts on all replicas: {found['rule']}",)
    _switch("resume", found, impact, f"invariant/{invariant_id} resumed", options, endpoint)


def _switch(
    verb: str, found: Row, impact: tuple[str, ...], outcome: str, options: MutationOptions, endpoint: Endpoint
) -> None:
    path = f"/v1/invariants/{quote(found['id'], safe='')}/{verb}"
    body = {"reason": options.reason}
    mutation = Mutation(
        kind="Invariant",
        name=f"invariant/{found['id']}",
        before=found,
        impact=impact,
        apply=lambda: Connection(endpoint).request("POST", path, body=body),
        describe=lambda _: outcome,
        needs_confirmation=verb == "pause",
    )
    run_mutation(mutation, options)


def _find_invariant(invariant_id: str, endpoint: Endpoint) -> Row:
    known: dict[str, Row] = {row["id"]: row for row in Connection(endpoint).get("/v1/invariants")["items"]}
    if invariant_id in known:
        return known[invariant_id]
    raise NotFound(f"there is no invariant {invariant_id!r}", fix=suggest(invariant_id, known, "invariants"))

"""`pause` and `resume`: flip a kill switch and say what that means."""

from urllib.parse import quote

from mooring.cli.changes import Change, Manner, acting_user, carry_out
from mooring.cli.output import Row
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import NotFound
from mooring.model.spelling import suggest


def pause(rule_id: str, manner: Manner, endpoint: Endpoint) -> None:
    """Nobody looks after a rule that is paused: a person at a terminal is asked."""
    rule = _find_rule(rule_id, endpoint)
    impact = (
        f"invariant/{rule_id} will not act on any replica until it is resumed: {rule['rule']}",
        f"now {rule['state']}: {rule['broken']} broken, {rule['healed']} healed; not done meanwhile: {rule['remedy']}",
    )
    told = f"invariant/{rule_id} paused: it will not act until resumed"
    _flip("pause", rule, impact, told, manner, endpoint)


def resume(rule_id: str, manner: Manner, endpoint: Endpoint) -> None:
    """It acts again."""
    rule = _find_rule(rule_id, endpoint)
    switch = f"paused by {rule['pausedBy']}" if rule["paused"] else "not paused"
    why = f" ({rule['pauseReason']})" if rule["paused"] and rule["pauseReason"] else ""
    impact = (f"invariant/{rule_id}, {switch}{why}, acts on all replicas: {rule['rule']}",)
    _flip("resume", rule, impact, f"invariant/{rule_id} resumed", manner, endpoint)


def _flip(verb: str, rule: Row, impact: tuple[str, ...], told: str, manner: Manner, endpoint: Endpoint) -> None:
    """The audit trail keeps who did it and why."""
    path = f"/v1/invariants/{quote(rule['id'], safe='')}/{verb}"
    body = {"reason": manner.reason, "actor": acting_user()}
    change = Change(
        kind="Invariant",
        name=f"invariant/{rule['id']}",
        before=rule,
        impact=impact,
        act=lambda: Connection(endpoint).request("POST", path, body=body),
        told=lambda _: told,
        takes_away=verb == "pause",
    )
    carry_out(change, manner)


def _find_rule(rule_id: str, endpoint: Endpoint) -> Row:
    rules: dict[str, Row] = {rule["id"]: rule for rule in Connection(endpoint).get("/v1/invariants")["items"]}
    if rule_id in rules:
        return rules[rule_id]
    raise NotFound(f"there is no invariant {rule_id!r}", fix=suggest(rule_id, rules, "invariants"))

"""`mooring arm`: declare the claims of a restored ledger complete, so that rules act again."""

from mooring.cli.changes import Change, Manner, acting_user, carry_out
from mooring.cli.output import Row, printable, show_one
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput


def arm(manner: Manner, endpoint: Endpoint) -> None:
    """Arm the incarnation that is there now; the audit trail keeps who did it and why."""
    if not manner.dry_run and not manner.reason.strip():
        raise InvalidInput(
            "--reason", manner.reason, "how you know that the claims are complete; the audit trail keeps it"
        )
    connection = Connection(endpoint)
    found: Row = connection.get("/v1/ledger")
    name = f"ledger/{found['incarnation']}"
    if found["armed"]:
        armed = f"{name} is armed already ({found['cause']})"
        show_one("Ledger", found, manner.form, name, lambda: print(printable(armed)))
        return
    body = {"incarnation": found["incarnation"], "reason": manner.reason, "actor": acting_user()}
    came_about = f"{found['cause']} since {found['since']}"
    change = Change(
        kind="Ledger",
        name=name,
        before=found,
        impact=(
            f"{name} ({came_about}): its claims are taken for complete again, on all replicas",
            "rules that rested act: a worker whose claim is not in the ledger is taken for a leak and reaped",
        ),
        act=lambda: connection.request("POST", "/v1/ledger/arm", body=body),
        told=lambda _: f"{name} armed: rules act again ({came_about})",
        takes_away=True,
    )
    carry_out(change, manner)

"""`release`: take a claim from whoever holds it or waits for it."""

from datetime import datetime

from mooring.cli.changes import Change, Manner, acting_user, carry_out
from mooring.cli.output import Row
from mooring.client.connection import Connection, Endpoint
from mooring.client.leasing import claim_path, read_grant
from mooring.clock import SystemClock
from mooring.model.errors import NotFound
from mooring.model.spans import describe_span


def run_release(claim_id: str, manner: Manner, endpoint: Endpoint) -> None:
    """An operator's act: audited, and its holder is told the reason. One that is over is shown as it ended."""
    connection = Connection(endpoint)
    found: Row = connection.get(claim_path(claim_id))
    still_open = read_grant(found).open
    if manner.dry_run and not still_open:
        raise NotFound(f"claim {claim_id} is {found['state']} already", fix="see 'mooring claims'")
    query = {"reason": manner.reason, "actor": acting_user()}
    change = Change(
        kind="Claim",
        name=f"claim/{found['id']}",
        before=found,
        impact=(_impact(found),),
        act=lambda: connection.request("DELETE", claim_path(claim_id), query),
        told=lambda claim: (
            f"claim/{claim['id']} {claim['state']}" + (f": {claim['reason']}" if claim["reason"] else "")
        ),
        takes_away=still_open,
    )
    carry_out(change, manner)


def _impact(claim: Row) -> str:
    pool, age = f"{claim['namespace']}/{claim['pool']}", _ago(claim["createdAt"])
    if claim["worker"] is None:
        return f"claim/{claim['id']}: {claim['owner']}, who asked {age} ago, gives up its place in the queue of {pool}"
    heard = f"{_ago(claim['heartbeatAt'])} ago" if claim["heartbeatAt"] else "never"
    return (
        f"claim/{claim['id']}: {claim['owner']} loses worker {claim['worker']['name']} of {pool}"
        f" after {age}; its last heartbeat: {heard}"
    )


def _ago(text: str) -> str:
    return describe_span((SystemClock().now() - datetime.fromisoformat(text)).total_seconds())

"""`mooring release`: take a claim from its holder, or from the queue."""

from datetime import datetime

from hawser.clock import SystemClock
from mooring.cli.output import Row
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
from mooring.client.claims_api import claim_path
from mooring.client.connection import Connection, Endpoint
from mooring.client.records import read_claim
from mooring.model.errors import NotFound
from mooring.model.time_format import describe_span


def run_release(claim_id: str, options: MutationOptions, endpoint: Endpoint) -> None:
    """Release as an operator: it is audited, and the holder gets the reason. An ended claim is printed as it ended."""
    connection = Connection(endpoint)
    found: Row = connection.get(claim_path(claim_id.removeprefix("claim/")))
    claim_id = found["id"]
    still_open = read_claim(found).open
    if options.dry_run and not still_open:
        raise NotFound(f"claim {claim_id} is {found['state']} already", fix="see 'mooring claims'")
    query = {"reason": options.reason}
    mutation = Mutation(
        kind="Claim",
        name=f"claim/{found['id']}",
        before=found,
        impact=(_impact(found),),
        apply=lambda: connection.request("DELETE", claim_path(claim_id), query),
        describe=lambda claim: (
            f"claim/{claim['id']} {claim['state']}" + (f": {claim['reason']}" if claim["reason"] else "")
        ),
        needs_confirmation=still_open,
    )
    run_mutation(mutation, options)


def _impact(claim: Row) -> str:
    pool, age = f"{claim['namespace']}/{claim['pool']}", _age(claim["createdAt"])
    if claim["worker"] is None:
        return f"claim/{claim['id']}: {claim['owner']} loses its place in the queue of {pool} after {age}"
    heartbeat = f"{_age(claim['heartbeatAt'])} ago" if claim["heartbeatAt"] else "never"
    return (
        f"claim/{claim['id']}: {claim['owner']} loses worker {claim['worker']['name']} of {pool}"
        f" after {age}; its last heartbeat: {heartbeat}"
    )


def _age(text: str) -> str:
    return describe_span((SystemClock().now() - datetime.fromisoformat(text)).total_seconds())

"""`mooring arm`: confirm that the claims of a restored ledger are complete, so that invariants act again."""

from mooring.cli.output import Row, print_line, show_one
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput


def run_arm(options: MutationOptions, endpoint: Endpoint) -> None:
    """Arm the current incarnation of the ledger. The audit trail keeps the user and the reason."""
    if not options.dry_run and not options.reason.strip():
        raise InvalidInput(
            "--reason", options.reason, "how you know that the claims are complete; the audit trail keeps it"
        )
    connection = Connection(endpoint)
    found: Row = connection.get("/v1/ledger")
    name = f"ledger/{found['incarnation']}"
    if found["armed"]:
        armed = f"{name} is armed already ({found['cause']})"
        show_one("Ledger", found, options.output, name, lambda: print_line(armed))
        return
    body = {"incarnation": found["incarnation"], "reason": options.reason}
    origin = f"{found['cause']} since {found['since']}"
    mutation = Mutation(
        kind="Ledger",
        name=name,
        before=found,
        impact=(
            f"{name} ({origin}): its claims count as complete again, on all replicas",
            "invariants act again: a worker whose claim is not in the ledger counts as leaked and is deleted",
        ),
        apply=lambda: connection.request("POST", "/v1/ledger/arm", body=body),
        describe=lambda _: f"{name} armed: invariants act again ({origin})",
        needs_confirmation=True,
    )
    run_mutation(mutation, options)

"""`mooring retire`: delete a worker by hand, for example one that hangs and that its pool keeps."""

from urllib.parse import quote

from mooring.cli.output import Row
from mooring.cli.remote.listings import WORKERS
from mooring.cli.remote.lookup import Lookup, find_one
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput, WorkerClaimed


def run_retire(name: str, force: bool, options: MutationOptions, endpoint: Endpoint) -> None:
    """Print what is lost, or delete the worker. A worker that a live claim holds needs `--force`."""
    if not options.reason.strip():
        raise InvalidInput("--reason", options.reason, "why the worker is retired, for the audit trail")
    connection = Connection(endpoint)
    found = find_one(connection, Lookup(WORKERS, name))
    key = f"{found['namespace']}/{found['name']}"
    if found["claims"] and not force:
        held = found["claims"][0]
        fix = f"mooring release {held} --reason '...'  # or give --force"
        raise WorkerClaimed(f"worker {key} is held by claim {held}", fix=fix)
    path = f"/v1/workers/{quote(found['namespace'], safe='')}/{quote(found['name'], safe='')}/retire"
    body = {"reason": options.reason, "force": force}
    mutation = Mutation(
        kind="Worker",
        name=f"worker/{key}",
        before=found,
        impact=_impact(found, key),
        apply=lambda: connection.request("POST", path, body=body),
        describe=lambda _: f"worker/{key} retired: it is being deleted, and its pool replaces it",
        needs_confirmation=True,
    )
    run_mutation(mutation, options)


def _impact(worker: Row, key: str) -> tuple[str, ...]:
    lines = [f"worker/{key} of pool {worker['pool']} ({worker['state']}: {worker['reason']}) is deleted and replaced"]
    lines += [f"claim/{claim}: {worker['owner'] or 'its holder'} loses this worker" for claim in worker["claims"]]
    return tuple(lines)

"""`mooring adopt`: make running pods workers of a pool, or state that adopted workers are idle."""

from dataclasses import dataclass
from urllib.parse import quote

from mooring.cli.output import Row
from mooring.cli.remote.listings import POOLS
from mooring.cli.remote.lookup import Lookup, find_one
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput, Refused


@dataclass(frozen=True, slots=True)
class AdoptCommand:
    """The arguments of `adopt`."""

    pool: str
    selector: str
    idle: bool


def run_adopt(asked: AdoptCommand, options: MutationOptions, endpoint: Endpoint) -> None:
    """Print what would be adopted, or adopt it. Fails if no pod was adopted or proven to be idle."""
    if not options.reason.strip():
        raise InvalidInput("--reason", options.reason, "why the pods are adopted, for the audit trail")
    if not asked.selector.strip():
        raise InvalidInput("--selector", asked.selector, "a label selector such as app=runner")
    connection = Connection(endpoint)
    pool = find_one(connection, Lookup(POOLS, asked.pool))
    key = f"{pool['namespace']}/{pool['name']}"
    path = f"/v1/pools/{quote(pool['namespace'], safe='')}/{quote(pool['name'], safe='')}/adopt"
    body = {"selector": asked.selector, "reason": options.reason, "idle": asked.idle}
    planned = connection.request("POST", path, body={**body, "dryRun": True})
    if not _changed(planned):
        whys = "; ".join(_lines(planned)) or f"no pod in {pool['namespace']} matches {asked.selector}"
        fix = _fix(planned) or f"kubectl get pods -n {pool['namespace']} --show-labels"
        raise Refused(f"nothing can be adopted into pool/{key}: {whys}", fix=fix)
    mutation = Mutation(
        kind="Pool",
        name=f"pool/{key}",
        before=planned,
        impact=(f"pool/{key} adopts what matches {asked.selector}:", *_lines_with_fix(planned)),
        apply=lambda: connection.request("POST", path, body=body),
        describe=lambda after: "\n".join((f"pool/{key}: {_changed(after)} pod(s) changed", *_lines_with_fix(after))),
        needs_confirmation=True,
    )
    run_mutation(mutation, options)


def _changed(result: Row) -> int:
    return sum(item["result"] in ("adopted", "proven-idle") for item in result["items"])


def _lines(result: Row) -> list[str]:
    return [f"pod/{item['name']} {item['result']}: {item['why']}" for item in result["items"]]


def _lines_with_fix(result: Row) -> list[str]:
    fix = _fix(result)
    return [*_lines(result), *([f"  fix: {fix}"] if fix else ())]


def _fix(result: Row) -> str:
    """The fix of the first skipped pod that has a fix. Older servers send no fixes."""
    return next((str(item["fix"]) for item in result["items"] if item.get("fix")), "")

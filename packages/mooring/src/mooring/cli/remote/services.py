"""`mooring services`: all services, or one; apply one from a file; delete one."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from mooring.cli.failures import FAILED, OK
from mooring.cli.output import Format, Row, print_line, show_one, show_table
from mooring.cli.remote.listing import run_listing
from mooring.cli.remote.listings import SERVICES
from mooring.cli.remote.lookup import Lookup, find_one, run_one
from mooring.cli.remote.manifest import read_manifest
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput, Refused

DEFAULT_NAMESPACE = "default"
_KIND = "ServiceChange"


def run_services(endpoint: Endpoint, name: str, namespace: str, output: Format, *, watch: bool) -> None:
    """Print a table of all services, or one by its name."""
    if name:
        run_one(Connection(endpoint), Lookup(SERVICES, name, namespace), output, watch, _print_service)
    else:
        run_listing(SERVICES, endpoint, {"namespace": namespace}, output, watch=watch)


def run_apply(endpoint: Endpoint, file: Path, namespace: str, options: MutationOptions) -> int:
    """Show the preflight, then create or update; the exit code of a dry run shows whether the preflight agrees."""
    body = read_manifest(file, "ManagedService")
    metadata = body.get("metadata") or {}
    name = str(metadata.get("name") or "")
    if not name:
        raise InvalidInput(f"{file}: metadata.name", name, "the name of the service")
    inside = str(metadata.get("namespace") or "")
    if namespace not in ("", inside) and inside:
        raise InvalidInput("--namespace", namespace, f"{inside}, as metadata.namespace is, or left out")
    connection, path = Connection(endpoint), _path(namespace or inside or DEFAULT_NAMESPACE, name)
    preview: Row = connection.request("PUT", path, {"dryRun": "true"}, body=body)
    shown, preflight = _full_name(preview), preview["preflight"]
    if preview["action"] == "unchanged":
        show_one(_KIND, preview, options.output, shown, lambda: print_line(f"{shown} unchanged"))
        return OK
    if not preflight["ok"] and not options.dry_run and not options.yes:
        raise Refused(f"{shown} is not applied: {preflight['message']}", fix=preflight["fix"] or "apply it with --yes")
    query = {"reason": options.reason}
    mutation = Mutation(
        kind=_KIND,
        name=shown,
        before=preview,
        impact=_impact(preview),
        apply=lambda: connection.request("PUT", path, query, body=body),
        describe=lambda after: "\n".join(
            (
                f"{shown} {_DONE[after['action']]}; 'mooring services {shown[8:]} --watch' follows it",
                *(() if preflight["ok"] else _preflight_lines(preflight)),
            )
        ),
        needs_confirmation=preview["action"] == "update" and preview["newPods"],
    )
    run_mutation(mutation, options)
    return OK if preflight["ok"] or not options.dry_run else FAILED


_DONE = {"create": "created", "update": "updated", "unchanged": "unchanged"}


def run_delete(endpoint: Endpoint, name: str, namespace: str, options: MutationOptions) -> None:
    """Delete the service that was found, and no other one of that name."""
    connection = Connection(endpoint)
    found = find_one(connection, Lookup(SERVICES, name, namespace))
    path = _path(found["namespace"], found["name"])
    preview: Row = connection.request("DELETE", path, {"dryRun": "true"})
    shown = _full_name(preview)
    query = {"reason": options.reason, "uid": preview["service"]["uid"]}
    mutation = Mutation(
        kind=_KIND,
        name=shown,
        before=preview,
        impact=(f"{shown}, {found['status']['phase']}, is deleted: {preview['preflight']['message']}",),
        apply=lambda: connection.request("DELETE", path, query),
        describe=lambda _: f"{shown} is being deleted, with its Deployment, its Service and its budget",
        needs_confirmation=True,
    )
    run_mutation(mutation, options)


def _impact(preview: Row) -> tuple[str, ...]:
    shown, preflight = _full_name(preview), preview["preflight"]
    what = "is created" if preview["action"] == "create" else "is updated"
    pods = "; its pods are replaced one by one" if preview["action"] == "update" and preview["newPods"] else ""
    lines = [f"{shown} {what}{pods}", *(f"  {change}" for change in preview["changes"])]
    return (*lines, *_preflight_lines(preflight))


def _preflight_lines(preflight: Row) -> tuple[str, ...]:
    verdict = f"preflight: {'ok' if preflight['ok'] else 'refused'}: {preflight['message']}"
    return (verdict, f"  fix: {preflight['fix']}") if preflight["fix"] else (verdict,)


def _path(namespace: str, name: str) -> str:
    return f"/v1/services/{quote(namespace, safe='')}/{quote(name, safe='')}"


def _full_name(found: dict[str, Any]) -> str:
    return f"service/{found['namespace']}/{found['name']}"


def _print_service(service: Row, output: Format) -> None:
    show_table([service], SERVICES.columns, wide=output is Format.WIDE)

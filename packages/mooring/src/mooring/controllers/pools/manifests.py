"""The pod of a worker, built as data from its pool's template."""

import hashlib
from typing import Any

import msgspec

from mooring.controllers.pools.dispatch_token import add_dispatch_token
from mooring.controllers.pools.server_address import ServerAddress
from mooring.engine.ownership import owner_reference
from mooring.model import names
from mooring.model.pool import Pool
from mooring.planning.placement import Placed

Body = dict[str, Any]


def spec_hash(pool: Pool, server: ServerAddress = ServerAddress()) -> str:
    """Changes exactly when workers made before must be replaced; so, where they poll, when Mooring moves.

    What placement derives from the nodes is left out: nodes come and go, and that must not roll a fleet.
    """
    spec = pool.spec
    known_by = (server.ca,) if server.ca else ()
    found = (server.url, *known_by) if spec.dispatch == "Poll" else ()
    parts = (spec.template, spec.placement, spec.service_account, spec.protection.grace_seconds, spec.dispatch, *found)
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]


def worker_manifest(
    pool: Pool, name: str, placed: Placed, incarnation: str, server: ServerAddress = ServerAddress()
) -> Body:
    """The whole pod. Nothing in it is text put together: arguments stay lists, values stay values."""
    template = msgspec.json.decode(msgspec.json.encode(pool.spec.template))
    metadata: Body = template.get("metadata") or {}
    pod: Body = placed.on(template.get("spec") or {})
    pod["terminationGracePeriodSeconds"] = pool.spec.protection.grace_seconds
    if pool.spec.service_account == "PerWorker":
        pod["serviceAccountName"] = name
    elif pool.spec.service_account:
        pod["serviceAccountName"] = pool.spec.service_account
    if pool.spec.dispatch == "Poll":
        pod = add_dispatch_token(pod, server)
    labels = {**(metadata.get("labels") or {}), names.POOL: pool.name, names.WORKER: name}
    annotations = {**(metadata.get("annotations") or {}), names.LEDGER: incarnation}
    annotations[names.SPEC_HASH] = spec_hash(pool, server)
    annotations[names.PLACEMENT] = placed.fingerprint
    if placed.avoid:
        annotations[names.AVOIDS] = " ".join(placed.avoid)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": pool.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner_reference("WorkerPool", pool.name, pool.uid)],
        },
        "spec": pod,
    }


def account_manifest(pool: Pool, name: str) -> Body:
    """The ServiceAccount that a worker has to itself."""
    owner = {"apiVersion": names.API_VERSION, "kind": "WorkerPool", "name": pool.name, "uid": pool.uid}
    labels = {names.POOL: pool.name, names.WORKER: name}
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
        "automountServiceAccountToken": False,  # a template that needs the API asks for it
    }

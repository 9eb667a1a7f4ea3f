"""The objects of Mooring that a search needs, as data: the Warmup that keeps shards on nodes, and the Submission."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mooring.model.names import API_VERSION
from mooring_blast.databases.manifest import Catalogue
from mooring_blast.searches.plan import Plan, step_name
from mooring_blast.store.settings import REGION, STORE, Address

Body = dict[str, Any]
PROGRAM = "mooring_blast"


@dataclass(frozen=True, slots=True)
class Site:
    """Where searches run: names, the image, the nodes, and the Secret with the keys of the store."""

    address: Address
    namespace: str = "blast"
    warmup: str = "nt"
    secret: str = "blast-store"
    image: str = "mooring/blast"
    python: str = sys.executable  # of the image; in the sandbox containers are processes of this machine
    local_path: str = "/var/lib/blast"
    placement: Mapping[str, Any] = field(default_factory=lambda: {"nodePool": "blast"})
    run_as: int | None = None

    def shard_folder(self, shard: int) -> str:
        """Where a warm shard is on its node."""
        return f"{self.local_path}/{shard:02}"

    def environment(self) -> list[Body]:
        """Addresses only: keys come from the Secret."""
        values = {STORE: self.address.url, REGION: self.address.region}
        return [{"name": name, "value": value} for name, value in values.items()]

    def pod_template(self) -> Body:
        """Keys of the store as variables of the pods, from the Secret."""
        template: Body = {"envFrom": [{"secretRef": {"name": self.secret}}]}
        return template if self.run_as is None else {**template, "securityContext": {"runAsUser": self.run_as}}


def namespace_body(site: Site) -> Body:
    """The namespace of all of them."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": site.namespace}}


def secret_body(site: Site, values: dict[str, str]) -> Body:
    """The Secret with the keys of the store."""
    metadata = {"name": site.secret, "namespace": site.namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values}


def warmup_body(site: Site, catalogue: Catalogue) -> Body:
    """A shard on each node, fetched from the store and verified by its content."""
    program = [site.python, "-m", PROGRAM]
    spec = {
        "dataset": catalogue.dataset,
        "generation": catalogue.generation,
        "shards": catalogue.shards,
        "placement": {**site.placement},
        "image": site.image,
        "command": [*program, "fetch"],
        "verify": [*program, "verify"],
        "env": site.environment(),
        "localPath": site.local_path,
        "propagationSeconds": 0,  # the fetch itself waits for permissions
        "attemptDelaySeconds": 5,
        "podTemplate": site.pod_template(),
    }
    metadata = {"name": site.warmup, "namespace": site.namespace}
    return {"apiVersion": API_VERSION, "kind": "Warmup", "metadata": metadata, "spec": spec}


def submission_spec(site: Site, plan: Plan) -> Body:
    """A Job for every batch and shard, where the shard is warm; then one that merges.

    Nothing that a person typed is in it: steps read the plan from the store.
    """
    placement = {**site.placement, "warmup": site.warmup}
    batches = [
        {
            "name": step_name(batch, shard),
            "shard": shard,
            "args": ["-m", PROGRAM, "batch", f"--batch={batch}", f"--folder={site.shard_folder(shard)}"],
        }
        for batch, shard in plan.reports()
    ]
    return {
        "namespace": site.namespace,
        "key": plan.id,
        "program": site.python,
        "image": site.image,
        "env": [*site.environment(), {"name": "BLAST_SEARCH", "value": plan.id}],
        "requires": {"warmups": [site.warmup]},
        "placement": placement,
        "volumes": [{"name": "shards", "hostPath": {"path": site.local_path}}],
        "volumeMounts": [{"name": "shards", "mountPath": site.local_path, "readOnly": True}],
        "batches": batches,
        "finalizer": {"args": ["-m", PROGRAM, "merge"]},
        "podTemplate": site.pod_template(),
    }

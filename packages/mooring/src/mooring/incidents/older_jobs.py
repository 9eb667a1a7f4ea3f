"""Jobs of an older tool on a stage: warm Jobs with each kind of pin, and helper Jobs of a submit."""

from collections.abc import Sequence
from typing import Any

from hawser.resources import JOBS
from mooring.incidents.stage import NAMESPACE, Stage

OLDER = "app=db-warmup,db=core_nt"
PINS = ("node-name", "hostname", "match-fields", "none")
_LABELS = {"app": "db-warmup", "db": "core_nt"}


async def make_older_jobs(stage: Stage, nodes: Sequence[str]) -> None:
    """One Job for each way of pinning, and one without a pin. All of them end soon."""
    for pin, node in zip(PINS, nodes, strict=False):
        await make_older_job(stage, f"db-warmup-{pin}", _LABELS, _pinned(pin, node))
    stage.narrate(f"an older tool has warmed as well: {len(PINS)} Jobs")


async def make_older_job(stage: Stage, name: str, labels: dict[str, str], pod: dict[str, Any]) -> None:
    """A Job that nothing of Mooring is on. Its container ends after a second."""
    containers = [{"name": "older", "image": "older:1", "command": ["true"]}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers, **pod}}
    body = {"metadata": {"name": name, "labels": labels}, "spec": {"template": template}}
    await stage.client.create(JOBS, body, NAMESPACE)


async def older_jobs(stage: Stage, selector: str = OLDER) -> set[str]:
    """Names of those that are still there."""
    return {job.metadata.name for job in (await stage.client.list(JOBS, NAMESPACE, label_selector=selector)).items}


def _pinned(pin: str, node: str) -> dict[str, Any]:
    match pin:
        case "node-name":
            return {"nodeName": node}
        case "hostname":
            return {"nodeSelector": {"kubernetes.io/hostname": node}}
        case "match-fields":
            fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
            terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
            return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    return {}

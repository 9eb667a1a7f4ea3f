"""A dataset on a stage: made as its owner would, and read as anybody can."""

from typing import Any

from mooring.incidents.stage import NAMESPACE, Stage
from mooring.kube.resources import WARMUPS

NAME = "core-nt"


async def make_warmup(stage: Stage, **spec: Any) -> None:
    """The dataset of the incidents, as large as asked for; what permissions take is hurried with the stage."""
    wanted = {
        "dataset": "core_nt",
        "image": "fetcher",
        "command": ["fetch"],
        "verify": ["check"],
        "propagationSeconds": round(stage.hurried(60)),
        **spec,
    }
    body = {"apiVersion": WARMUPS.api_version, "kind": "Warmup", "metadata": {"name": NAME}, "spec": wanted}
    await stage.client.create(WARMUPS, body, NAMESPACE)


async def read_warmup(stage: Stage) -> dict[str, Any]:
    """Its status, read now."""
    found = await stage.client.get(WARMUPS.raw(), NAME, NAMESPACE)
    return dict(found.get("status") or {})

"""A dataset on a stage: its Warmup, and its status."""

from typing import Any

from mooring.incidents.stage import NAMESPACE, Stage
from mooring.kinds.resources import WARMUPS

NAME = "core-nt"


async def make_warmup(stage: Stage, **spec: Any) -> None:
    """Create the Warmup of the incidents. Its propagation time is divided by the stage's factor."""
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
    """The status of the Warmup, read from the API."""
    found = await stage.client.get(WARMUPS.raw(), NAME, NAMESPACE)
    return dict(found.get("status") or {})

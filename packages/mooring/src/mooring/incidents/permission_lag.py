"""permission-lag: a permission takes effect a minute late, and the failure is declared before it does."""

from drydock import ContainerRun, Nodes, Script, plain_nodes
from mooring.incidents.datasets import make_warmup, read_warmup
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.stage import Stage
from mooring.incidents.storage import Storage

SHARDS = 10
LAG_SECONDS = 90.0
DECLARED_SECONDS = 60  # when the half without protection gives up: half a minute too early
WATCHED_SECONDS = 1800.0

# The same order without waiting and without retries, as it was in the incident.
IMPATIENT = {"propagationSeconds": 0, "attempts": 1, "attemptDelaySeconds": 0, "deadlineSeconds": DECLARED_SECONDS}


class PermissionLag(Incident):
    """The role took effect 90 s after it was granted; the warmup had been declared failed 30 s before."""

    name = "permission-lag"
    title = "access that arrives a minute late"
    story = (
        "A storage role is granted and takes effect 90 s later. A warmup that asks at once gets 403, crashes in a "
        "loop, and is declared failed 30 s before the role works."
    )
    protections = ("warm-on-live-node",)

    def __init__(self) -> None:
        self._storage = Storage()

    def nodes(self) -> Nodes:
        return plain_nodes(SHARDS)

    def script(self, run: ContainerRun) -> Script | None:
        return self._storage.script(run)

    async def play(self, stage: Stage, protected: bool) -> Figures:
        self._storage = storage = Storage(granted_after=stage.clock.monotonic() + LAG_SECONDS)
        stage.start()
        await make_warmup(stage, shards=SHARDS, **({} if protected else IMPATIENT))
        stage.narrate(f"the role is granted; it takes effect in {LAG_SECONDS:.0f} s")
        failed_at, ready_at = await _follow(stage)
        status = await read_warmup(stage)
        failure = status.get("failure") or {}
        return Figures(
            outage=ready_at is None or failed_at is not None,
            measured={
                "lagSeconds": LAG_SECONDS,
                "refused": storage.refused,
                "declaredFailedAfterSeconds": failed_at,
                "readyAfterSeconds": ready_at,
                "shardsWarm": status.get("nodesReady", 0),
                "fetches": len(storage.fetched),
                "linesOfEvidence": len(failure.get("logs") or ()),
                "phase": status.get("phase", ""),
            },
        )


async def _follow(stage: Stage) -> tuple[float | None, float | None]:
    """When it was first declared failed, and when it was Ready; None for never."""
    failed_at: float | None = None
    while stage.seconds < WATCHED_SECONDS:
        phase = (await read_warmup(stage)).get("phase")
        if phase == "Failed" and failed_at is None:
            failed_at = round(stage.seconds, 1)
            stage.narrate("the warmup is declared failed")
        if phase == "Ready":
            stage.narrate("every shard is warm")
            return failed_at, round(stage.seconds, 1)
        await stage.clock.sleep(1.0)
    return failed_at, None

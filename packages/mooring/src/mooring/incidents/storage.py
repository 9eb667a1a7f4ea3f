"""The source of datasets on a stage: a storage whose permission takes effect late, and that counts fetches."""

import asyncio
from dataclasses import dataclass, field

from drydock import ContainerRun, Script

DENIED = "403 AuthorizationPermissionMismatch: this request is not authorized"
_ATTEMPT_SECONDS = 1.0


@dataclass(slots=True)
class Storage:
    """Simulates the fetch container: the attempts of the real script, with a permission that begins at some time."""

    granted_after: float = 0.0  # in the stage's time; infinite: never
    fetch_seconds: float = 20.0
    says: tuple[str, ...] = (DENIED,)
    fetched: list[tuple[str, str]] = field(default_factory=list)  # shard and node of every successful fetch
    refused: int = 0

    def script(self, run: ContainerRun) -> Script | None:
        """The script of a container; None for all containers but the fetch."""
        if run.container != "fetch":
            return None
        environment = {variable["name"]: variable.get("value", "") for variable in run.spec["env"]}
        attempts, delay = int(environment["MOORING_ATTEMPTS"]), float(environment["MOORING_ATTEMPT_DELAY_SECONDS"])
        now, spent = asyncio.get_running_loop().time(), 0.0
        logs: list[str] = []
        for attempt in range(1, attempts + 1):
            if now + spent >= self.granted_after:
                self.fetched.append((environment["MOORING_SHARD_LIST"], run.place.node))
                return Script(run_seconds=spent + self.fetch_seconds, logs=[*logs, "fetched 100%"])
            self.refused += 1
            logs += [*self.says, f"mooring: attempt {attempt} of {attempts} failed"]
            spent += _ATTEMPT_SECONDS + (delay if attempt < attempts else 0.0)
        return Script(run_seconds=spent, exit_code=1, logs=logs)

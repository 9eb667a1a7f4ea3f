"""Where datasets come from on a stage: a storage whose permission arrives late, and that counts who fetched what."""

import asyncio
from dataclasses import dataclass, field

from mooring.sandbox.actors.runtime.contract import ContainerRun
from mooring.sandbox.actors.runtime.script import Script

DENIED = "403 AuthorizationPermissionMismatch: this request is not authorized"
_ATTEMPT_SECONDS = 1.0


@dataclass(slots=True)
class Storage:
    """Plays the fetch container: the attempts of the real script, against a permission with a beginning."""

    granted_after: float = 0.0  # of the stage's time; infinite: never
    fetch_seconds: float = 20.0
    says: tuple[str, ...] = (DENIED,)
    fetched: list[tuple[str, str]] = field(default_factory=list)  # shard and node, of every fetch that succeeded
    refused: int = 0

    def script(self, run: ContainerRun) -> Script | None:
        """What this run of a container does; None for all but the fetch."""
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

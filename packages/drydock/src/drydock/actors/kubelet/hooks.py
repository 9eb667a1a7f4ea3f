"""Lifecycle hooks of containers: a command beside the container, or a pause."""

from drydock.actors.machinery.objects import Object
from drydock.runtime.contract import Handle
from hawser.clock import Clock


async def run_hook(name: str, container: Object, handle: Handle, clock: Clock, timeout_seconds: float) -> bool:
    """Run the container's `preStop` or `postStart`, if it has one; False when it failed."""
    match (container.get("lifecycle") or {}).get(name):
        case {"sleep": {"seconds": seconds}}:
            await clock.sleep(float(seconds))
        case {"exec": {"command": command}}:
            return (await handle.execute(command, timeout_seconds)).ok
    return True

"""What stands beside the pools: a reconciler with caches of its own, wired in app.py like every other."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mooring.kube.reflector import Reflector

OnChange = Callable[[str, str], None]  # kind ("warmup", "submission", "service", …) and key


class Part(Protocol):
    """Warmups, submissions, services: each watches its kinds, and acts while this replica leads."""

    @property
    def reflectors(self) -> Mapping[str, Reflector[Any]]:
        """Its caches by name, for health pages and metrics; each part runs its own."""
        ...

    def subscribe(self, listener: OnChange) -> None:
        """Be told what changed; must not wait."""
        ...

    async def run(self) -> None:
        """Watch and reconcile until cancelled."""
        ...

    async def stop(self, timeout_seconds: float) -> None:
        """Take no new key; let passes under way finish."""
        ...

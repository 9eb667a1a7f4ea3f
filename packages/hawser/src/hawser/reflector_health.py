"""How far a cache can be trusted."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReflectorHealth:
    """How far the cache can be trusted. Counts are since the start."""

    synced: bool
    watching: bool
    silent: bool  # received nothing for longer than its patience
    last_event_age_seconds: float | None  # of a list, an event, a bookmark or the orderly end of a watch
    last_error: str  # empty when things went well since
    relists: int
    reconnects: int
    silences: int
    stale_lists: int
    skipped: int  # objects that could not even be identified
    defective: Mapping[str, tuple[str, ...]]  # objects held, some of whose fields could not be read
    subscriber_failures: int

    @property
    def fresh(self) -> bool:
        """Whether the cache follows its watch now."""
        return self.watching and not self.last_error and not self.silent

"""Whether this replica may act now."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from mooring.engine.fence import acting
from mooring.engine.informer import Informer
from mooring.engine.leader import Leadership
from mooring.engine.switches import Switches


class Gate:
    """Open on the replica that leads, once the kill switches and the caches that every controller needs were read."""

    def __init__(self, leadership: Leadership, switches: Switches, informers: Sequence[Informer]) -> None:
        self._leadership = leadership
        self._switches = switches
        self._informers = tuple(informers)

    def leads(self) -> bool:
        """No invariant may act before its kill switch was read."""
        return self._switches.known and self._leadership.leading

    def may_act(self) -> bool:
        """Whether this replica leads and its caches have been read completely."""
        return self.leads() and self.synced

    def acting(self) -> AbstractContextManager[None]:
        """What is written inside is written as the leader of the present term, and refused when that is over."""
        return acting(self._leadership.term)

    @property
    def synced(self) -> bool:
        return all(informer.synced for informer in self._informers)

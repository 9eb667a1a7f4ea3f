"""Who held which worker when, by the claimers' own word and by what was written on the pods: nothing of Mooring's."""

from dataclasses import dataclass, field

from hawser.watching import WatchEvent
from mooring.model import names


@dataclass
class Witness:
    """Sees every handover and every pod, and writes down what must never happen."""

    served: int = 0
    violations: list[str] = field(default_factory=list)
    _held: dict[str, int] = field(default_factory=dict)  # worker uid -> epoch of the hold that is open
    _last_held: dict[str, int] = field(default_factory=dict)
    _stamped: dict[str, int | None] = field(default_factory=dict)
    _last_stamped: dict[str, int] = field(default_factory=dict)

    def takes(self, uid: str, epoch: int) -> None:
        """A claimer was answered with this worker."""
        if uid in self._held:
            self.violations.append(f"{uid} was given out under {epoch} while it was held under {self._held[uid]}")
        if epoch <= self._last_held.get(uid, 0):
            self.violations.append(f"{uid} was given out under {epoch} after {self._last_held[uid]}")
        self._held[uid] = epoch
        self._last_held[uid] = max(epoch, self._last_held.get(uid, 0))

    def gives_back(self, uid: str, epoch: int) -> None:
        """The claimer is about to release it."""
        if self._held.get(uid) == epoch:
            del self._held[uid]
        self.served += 1

    def complains(self, uid: str, what: str) -> None:
        """A claimer was told something that must not happen to a holder."""
        self.violations.append(f"{uid}: {what}")

    def sees(self, event: WatchEvent[dict[str, object]]) -> None:
        """A pod changed."""
        metadata = event.object["metadata"]
        assert isinstance(metadata, dict)
        uid = metadata["uid"]
        written = (metadata.get("annotations") or {}).get(names.EPOCH)
        epoch = int(written) if written and event.type != "DELETED" else None
        before = self._stamped.get(uid)
        self._stamped[uid] = epoch
        if before is not None and epoch != before and self._held.get(uid) == before:
            self.violations.append(f"the stamp of {uid} changed from {before} to {epoch} while it was held")
        if epoch is not None and epoch != before:
            if epoch <= self._last_stamped.get(uid, 0):
                self.violations.append(f"{uid} was stamped with {epoch} after {self._last_stamped[uid]}")
            self._last_stamped[uid] = epoch

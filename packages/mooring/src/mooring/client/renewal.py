"""When a claim is renewed, and until when it is certainly ours. No I/O, no clock."""

from dataclasses import dataclass

LONGEST_RENEWAL_SECONDS = 10.0


@dataclass(slots=True)
class RenewalSchedule:
    """The ttl counts from the moment when the last accepted renewal was sent."""

    ttl_seconds: float
    renewed_at: float  # monotonic
    failing: bool = False

    @property
    def ends_at(self) -> float:
        """From then on the claim may belong to somebody else (monotonic)."""
        return self.renewed_at + self.ttl_seconds

    @property
    def request_seconds(self) -> float:
        """Timeout of one renewal: several fit into the ttl."""
        return min(LONGEST_RENEWAL_SECONDS, self.ttl_seconds / 3)

    def pause_seconds(self, now: float) -> float:
        """Until the next renewal: a third of the ttl after the last one, less after a failed one."""
        if self.failing:
            return max(0.0, min(1.0, self.ttl_seconds / 10, self.ends_at - now))
        return max(0.0, self.renewed_at + self.ttl_seconds / 3 - now)

    def renewed(self, sent_at: float) -> None:
        """The server accepted a renewal."""
        self.renewed_at, self.failing = sent_at, False

"""How long to go on asking somebody who does not answer."""

from mooring.client.errors import RemoteError
from mooring.clock import Entropy
from mooring.kube.backoff import Backoff

PATIENCE_SECONDS = 15.0


class Patience:
    """Pauses between attempts, with jitter; used up when failures have lasted for too long."""

    def __init__(self, entropy: Entropy, seconds: float = PATIENCE_SECONDS) -> None:
        self._backoff = Backoff(entropy, first_seconds=0.2, last_seconds=2.0)
        self._seconds = seconds
        self._failing_since: float | None = None

    def pause_seconds(self, error: RemoteError, now: float) -> float:
        """How long to wait before the next attempt; raises the error when patience is used up."""
        if self._failing_since is None:
            self._failing_since = now
        pause = self._backoff.next_seconds()
        if now + pause - self._failing_since > self._seconds:
            raise error
        return pause

    def reset(self) -> None:
        """An answer came."""
        self._backoff.reset()
        self._failing_since = None

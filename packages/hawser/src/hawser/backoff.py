"""How long to wait before trying again: full jitter under a ceiling that doubles, so that callers spread."""

from hawser.clock import Entropy


class Backoff:
    """Waits of one caller. `reset` it after a success."""

    def __init__(self, entropy: Entropy, *, first_seconds: float = 0.8, last_seconds: float = 30.0) -> None:
        self._entropy = entropy
        self._first_seconds = first_seconds
        self._last_seconds = last_seconds
        self._ceiling = first_seconds

    def next_seconds(self) -> float:
        """The wait before the next attempt: anything from nothing to the ceiling."""
        wait = self._entropy.between(0.0, self._ceiling)
        self._ceiling = min(self._ceiling * 2, self._last_seconds)
        return wait

    def reset(self) -> None:
        """It worked: the next failure starts from the first ceiling again."""
        self._ceiling = self._first_seconds

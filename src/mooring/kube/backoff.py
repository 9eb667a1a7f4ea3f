"""How long to wait before trying again: full jitter under a ceiling that doubles (rule 18)."""

from typing import Final

from mooring.clock import Entropy

FIRST_CEILING_SECONDS: Final = 0.8
LAST_CEILING_SECONDS: Final = 30.0


class Backoff:
    """Waits of one caller. `reset` it after a success."""

    def __init__(
        self,
        entropy: Entropy,
        *,
        first_seconds: float = FIRST_CEILING_SECONDS,
        last_seconds: float = LAST_CEILING_SECONDS,
    ) -> None:
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

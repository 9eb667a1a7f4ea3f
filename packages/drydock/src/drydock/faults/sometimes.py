"""Things that must happen in some run: a search that never met a fault has not searched for it."""

from collections import Counter
from collections.abc import Iterable, Mapping


class Sometimes:
    """Counts over many runs which faults fired and which rare branches were reached."""

    def __init__(self, expected: Iterable[str]) -> None:
        self._seen: Counter[str] = Counter(dict.fromkeys(expected, 0))

    def reached(self, name: str) -> None:
        """Note that it happened once."""
        self._seen[name] += 1

    def add(self, counts: Mapping[str, int]) -> None:
        """Note what one run saw."""
        self._seen.update(counts)

    @property
    def counts(self) -> Mapping[str, int]:
        return self._seen

    def missing(self) -> list[str]:
        """What was expected and never happened."""
        return sorted(name for name, count in self._seen.items() if count == 0)

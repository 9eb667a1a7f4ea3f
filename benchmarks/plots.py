"""Line plots as SVG files, without a library."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 150, 34, 44
_COLOURS = ("#0b6e99", "#c2410c", "#3f7d20", "#7c3aed", "#8a6d00")
_TICKS = 5

Curves = Mapping[str, Sequence[tuple[float, float]]]


def plot(title: str, axes: tuple[str, str], curves: Curves) -> str:
    """An SVG document. The vertical axis begins at zero."""
    points = [point for curve in curves.values() for point in curve]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = max((y for _, y in points), default=1.0) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        share = (x - low) / (high - low) if high > low else 0.5
        across = _LEFT + share * (WIDTH - _LEFT - _RIGHT)
        return across, HEIGHT - _BOTTOM - y / top * (HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(_LEFT, 18, title, size=13),
        _text((WIDTH - _RIGHT + _LEFT) / 2, HEIGHT - 8, axes[0], anchor="middle"),
        _text(_LEFT, _TOP - 4, axes[1]),
    ]
    for tick in range(_TICKS + 1):
        value = top * tick / _TICKS
        _, y = place(low, value)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="#ddd"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{value:.3g}", anchor="end"))
    marks = sorted({x for x, _ in points})
    for x in marks[:: len(marks) // 8 + 1]:
        parts.append(_text(place(x, 0)[0], HEIGHT - _BOTTOM + 16, f"{x:g}", anchor="middle"))
    for number, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = "M" + "L".join("{:.1f} {:.1f}".format(*place(x, y)) for x, y in curve)
        parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += ['<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*place(x, y), colour) for x, y in curve]
        parts.append(_text(WIDTH - _RIGHT + 10, _TOP + 16 * (number + 1), name, colour=colour))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 11, colour: str = "#333") -> str:
    style = f'text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'

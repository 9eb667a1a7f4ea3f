"""The shapes of the fleet map: shape shows the state first, colour second. One path draws all cells of a state."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

CELL = 14  # pixels from one cell to the next
COLUMNS = 10

Point = tuple[int, int]


def cell_origin(index: int) -> Point:
    """The upper left corner of a cell."""
    return (index % COLUMNS) * CELL, (index // COLUMNS) * CELL


def rows_needed(cells: int) -> int:
    """The number of rows of cells of a tile; an empty tile still has a box."""
    return max(1, -(-cells // COLUMNS))


def _square(x: int, y: int) -> str:
    return f"M{x + 2} {y + 2}h10v10h-10z"


def _dotted_square(x: int, y: int) -> str:
    # The dot is cut out of the square (evenodd), so that it is visible in any colour.
    return f"M{x + 2} {y + 2}h10v10h-10zM{x + 5} {y + 5}v4h4v-4z"


def _triangle_up(x: int, y: int) -> str:
    return f"M{x + 7} {y + 2}l5 10h-10z"


def _triangle_down(x: int, y: int) -> str:
    return f"M{x + 2} {y + 2}h10l-5 10z"


def _cross(x: int, y: int) -> str:
    return f"M{x + 3} {y + 3}l8 8M{x + 11} {y + 3}l-8 8"


def _octagon(x: int, y: int) -> str:
    return f"M{x + 4} {y + 1}h6l3 3v6l-3 3h-6l-3 -3v-6z"


def _diamond(x: int, y: int) -> str:
    return f"M{x + 7} {y + 1}l6 6l-6 6l-6 -6z"


def _ring(x: int, y: int) -> str:
    return f"M{x + 0.5} {y + 0.5}h13v13h-13z"


SHAPES: Mapping[str, Callable[[int, int], str]] = MappingProxyType(
    {
        "idle": _square,
        "claimed": _dotted_square,
        "busy": _dotted_square,
        "starting": _triangle_up,
        "failing": _octagon,  # a worker without a session whose containers do not start, or do not stay up
        "draining": _triangle_down,
        "lost": _cross,
        "done": _diamond,  # of replays: a pod that has succeeded
        "failed": _cross,  # of replays: a pod that has failed, or crashes
        "protected": _ring,
    }
)


def path_of(state: str, cells: Iterable[int]) -> str:
    """The path data of all cells of a state."""
    shape = SHAPES[state]
    return "".join(shape(*cell_origin(index)) for index in cells)

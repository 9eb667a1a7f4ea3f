"""The completion indexes of an Indexed Job: on pods, and as the text `0-2,5` in its status."""

from collections.abc import Iterable

from drydock.actors.machinery.objects import Object, annotations_of

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


def index_of(pod: Object) -> int | None:
    """The pod's completion index; None when it has none or a broken one."""
    text = annotations_of(pod).get(COMPLETION_INDEX, "")
    return int(text) if text.isdigit() else None


def parse_indexes(text: str, completions: int) -> set[int]:
    """The indexes below `completions` that the text names; broken parts are left out."""
    indexes: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last.isdigit() or not last):
            indexes.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return {index for index in indexes if index < completions}


def format_indexes(indexes: Iterable[int]) -> str:
    """The shortest text: runs of three or more as `first-last`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    parts: list[str] = []
    for first, last in runs:
        parts.append(str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}")
    return ",".join(parts)

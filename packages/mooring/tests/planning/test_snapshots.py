"""What planners decide on: snapshots that nothing can change after they were taken."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import mooring.planning

# A Sequence may be a list that its owner goes on changing. A Mapping is copied when the snapshot is taken.
MUTABLE = (list, dict, set, bytearray, Iterable, Iterator, Sequence, Callable)


def find_snapshots() -> dict[str, type]:
    modules = pkgutil.walk_packages(mooring.planning.__path__, "mooring.planning.")
    found = [value for module in modules for value in vars(importlib.import_module(module.name)).values()]
    return {one.__name__: one for one in found if isinstance(one, type) and one.__name__.endswith("Snapshot")}


SNAPSHOTS = find_snapshots()


def parts_of(hint: Any) -> Iterator[Any]:
    """A type and all types it is made of."""
    yield get_origin(hint) or hint
    for part in get_args(hint):
        yield from parts_of(part)


def loose_parts(kind: type, seen: set[type]) -> Iterator[str]:
    """Fields of a class, and of the classes of our own below it, that could change under a planner."""
    seen.add(kind)
    if not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        yield f"{kind.__name__} is not frozen"
    hints = get_type_hints(kind, vars(importlib.import_module(kind.__module__)))
    for name in (field.name for field in fields(kind)):
        for part in parts_of(hints[name]):
            if part in MUTABLE:
                yield f"{kind.__name__}.{name} may be a {part.__name__}"
            elif isinstance(part, type) and is_dataclass(part) and part not in seen and not _is_read_once(part):
                yield from loose_parts(part, seen)
            elif isinstance(part, type) and part.__module__.startswith(("mooring.engine", "mooring.controllers")):
                yield f"{kind.__name__}.{name} is a {part.__name__}"


def _is_read_once(kind: type) -> bool:
    """Needs of pods hold parts of their JSON and compiled selectors, which nothing changes after they were read."""
    return kind.__module__.startswith("hawser.fitting")


def test_every_planner_has_its_snapshot():
    assert len(SNAPSHOTS) >= 8


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_is_frozen_with_everything_in_it(name):
    assert list(loose_parts(SNAPSHOTS[name], set())) == []

"""What runs beside the tests ends with the group that needs it, not with the run.

A control plane or a `mooring up` takes a tenth of a core while nobody asks it anything. Only a process of `pytest -n`
gets its tests group by group; a run in one process keeps what it has started.
"""

from collections.abc import Callable
from typing import Any

import pytest

from packages.testing.distribution import group_of

_FIXTURES = frozenset({"cluster", "control_plane", "dock", "mooring", "real_nodes_cluster", "up"})
_OPEN = pytest.StashKey[dict[pytest.FixtureDef[Any], pytest.FixtureRequest]]()
_CLOSERS = pytest.StashKey[list[Callable[[], None]]]()


def close_with_group(config: pytest.Config, close: Callable[[], None]) -> None:
    """Call `close` when the group of tests ends that runs now."""
    if _CLOSERS not in config.stash:
        config.stash[_CLOSERS] = []
        config.add_cleanup(lambda: _call_closers(config))
    config.stash[_CLOSERS].append(close)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Any:
    if fixturedef.scope == "session" and fixturedef.argname in _FIXTURES:
        request.config.stash.setdefault(_OPEN, {})[fixturedef] = request
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if not hasattr(item.config, "workerinput") or nextitem is None:
        return
    if group_of(item.nodeid)[1] == group_of(nextitem.nodeid)[1]:
        return
    opened = item.config.stash.get(_OPEN, {})
    while opened:
        fixturedef, request = opened.popitem()
        fixturedef.finish(request)  # type: ignore[arg-type]  # as pytest does when a parameter changes
    _call_closers(item.config)


def _call_closers(config: pytest.Config) -> None:
    closers = config.stash.get(_CLOSERS, [])
    while closers:
        closers.pop()()

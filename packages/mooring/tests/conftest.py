"""What every test of Mooring may use."""

from collections.abc import Iterator

import pytest
import structlog

from packages.mooring.tests.fences import watch_fences
from packages.mooring.tests.permissions import RECORDER


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A command that is run inside a test may set up logging; the next test starts with the defaults again."""
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def own_rights(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Control planes of tests use only what their account may; what they use is recorded."""
    RECORDER.watch(monkeypatch)
    yield
    assert RECORDER.ungranted == [], "used, and not granted by mooring/model/permissions.py"


@pytest.fixture(autouse=True)
def own_fences(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Control planes of tests say of each object that they change or delete which one, as it was seen."""
    faults = watch_fences(monkeypatch)
    yield
    assert faults == [] or request.node.get_closest_marker("planted") is not None

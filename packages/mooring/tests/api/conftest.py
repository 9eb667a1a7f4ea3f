"""The HTTP API as programs see it: over a loopback port, of the one `up` that all tests share."""

from collections.abc import Iterator

import httpx
import pytest

from packages.mooring.tests.acceptance.world import Up, shared_up


@pytest.fixture(scope="session")
def up(request: pytest.FixtureRequest) -> Up:
    return shared_up(request.config, "sandbox")


@pytest.fixture
def api(up: Up) -> Iterator[httpx.Client]:
    """With the token."""
    with up.http() as client:
        yield client


@pytest.fixture
def stranger(up: Up) -> Iterator[httpx.Client]:
    """Without it."""
    with httpx.Client(base_url=up.url, timeout=30) as client:
        yield client


@pytest.fixture
def browser_session(up: Up) -> Iterator[httpx.Client]:
    """Logged in through the form: a cookie, no bearer."""
    with httpx.Client(base_url=up.url, timeout=30) as client:
        assert client.post("/login", data={"token": up.token}).status_code == 303
        yield client

"""The pages of the one `up` that all tests share, in a real browser."""

import pytest

from packages.mooring.tests.acceptance.browser import browser
from packages.mooring.tests.acceptance.world import Up, shared_up

__all__ = ["browser"]


@pytest.fixture(scope="session")
def up(request: pytest.FixtureRequest) -> Up:
    return shared_up(request.config, "sandbox")

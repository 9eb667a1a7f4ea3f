"""The pages of the one `up` that all tests share, in a real browser."""

import pytest

from tests.acceptance.browser import browser
from tests.acceptance.world import Up, shared_up

__all__ = ["browser"]


@pytest.fixture(scope="session")
def up(request: pytest.FixtureRequest) -> Up:
    return shared_up(request.config, "sandbox")

"""Commands against the one `up` that all tests share."""

import pytest

from packages.mooring.tests.acceptance.world import Up, shared_up


@pytest.fixture(scope="session")
def up(request: pytest.FixtureRequest) -> Up:
    return shared_up(request.config, "sandbox")

"""One harbour for all tests of a process. Its pool and its gateway are shared by tests that break nothing."""

import pytest

from postgres_gateway_tests.harbour import open_harbour


@pytest.fixture(scope="session")
def harbour(tmp_path_factory):
    with open_harbour(tmp_path_factory.mktemp("gateway")) as opened:
        yield opened


@pytest.fixture(scope="session")
def pool(harbour):
    return harbour.pool(warm=2, max=4)


@pytest.fixture(scope="session")
def port(harbour, pool):
    harbour.database(pool, idle_seconds=1.0)
    with harbour.gateway() as opened:
        yield opened

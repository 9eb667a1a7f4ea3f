"""The contract suite runs every test that asks for a `world` twice: in memory and on PostgreSQL."""

import pytest

from packages.mooring.tests.ledger.worlds import MemoryWorld, PostgresWorld, World
from packages.mooring.tests.postgres import PostgresForTests, postgres

__all__ = ["postgres"]


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.realtime)])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "memory":
        return MemoryWorld()
    server: PostgresForTests = request.getfixturevalue("postgres")
    return PostgresWorld(server)

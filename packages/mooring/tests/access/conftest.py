"""The world of the scenarios, for tests of access."""

from packages.mooring.tests.scenarios.conftest import world

__all__ = ["world"]

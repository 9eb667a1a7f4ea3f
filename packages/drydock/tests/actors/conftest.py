"""What tests of the controllers may use."""

from contextlib import AbstractAsyncContextManager

import pytest

from packages.drydock.tests.actors.cluster import Cluster, cluster


@pytest.fixture
def world() -> AbstractAsyncContextManager[Cluster]:
    """A running cluster without nodes, in virtual time."""
    return cluster()

"""What tests of drydock share."""

from collections.abc import Iterator

import pytest

from drydock.kubernetes.launcher import ControlPlane
from packages.drydock.tests.planes import control_plane_in_a_thread
from packages.drydock.tests.requirements import require_kubernetes


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """One real control plane for all tests marked `kubernetes`; they keep apart by namespace."""
    require_kubernetes()
    with control_plane_in_a_thread() as plane:
        yield plane

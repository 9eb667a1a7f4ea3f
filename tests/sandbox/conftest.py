"""What tests of the sandbox share."""

from collections.abc import Iterator

import pytest

from mooring.sandbox.kubernetes.launcher import ControlPlane
from tests.requirements import require_kubernetes
from tests.sandbox.planes import control_plane_in_a_thread


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """One real control plane for all tests marked `kubernetes`; they keep apart by namespace."""
    require_kubernetes()
    with control_plane_in_a_thread() as plane:
        yield plane

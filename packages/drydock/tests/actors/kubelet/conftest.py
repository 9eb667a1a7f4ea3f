"""A node whose pods are processes, on the embedded API and on a real control plane."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from packages.drydock.tests.actors.kubelet.node_worlds import World, embedded_world, kubernetes_world


@pytest.fixture(
    params=[
        pytest.param("embedded", marks=pytest.mark.realtime),
        pytest.param("kubernetes", marks=[pytest.mark.kubernetes, pytest.mark.realtime]),
    ]
)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> AbstractAsyncContextManager[World]:
    if request.param == "embedded":
        return embedded_world(tmp_path)
    return kubernetes_world(request.getfixturevalue("control_plane"), tmp_path)

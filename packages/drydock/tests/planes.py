"""A real control plane for a whole test session, kept by a thread of its own: every test has its own event loop."""

from collections.abc import Iterator
from contextlib import contextmanager

from drydock.hosting import hosted
from drydock.kubernetes.components import PlaneOptions
from drydock.kubernetes.launcher import ControlPlane
from hawser.clock import Entropy, SystemClock


@contextmanager
def control_plane_in_a_thread(options: PlaneOptions = PlaneOptions()) -> Iterator[ControlPlane]:
    """Started when the block begins, gone when it ends."""
    clock, entropy = SystemClock(), Entropy()
    with hosted(lambda: ControlPlane.start(None, clock=clock, entropy=entropy, options=options)) as host:
        yield host.value

"""What kubelets do to pods, as facts that can be compared between drydock's kubelet and the real one."""

from packages.drydock.tests.nodes.probes import configuration, endings, lives, streams
from packages.drydock.tests.nodes.probes.probed import Facts, Probe, Probed

PROBES: tuple[Probe, ...] = (*lives.PROBES, *endings.PROBES, *configuration.PROBES, *streams.PROBES)

__all__ = ["PROBES", "Facts", "Probe", "Probed"]

"""Probes: what happens to things in a cluster, told as facts that can be compared between clusters.

Names, times and ids are replaced, so that the same probe tells the same of drydock and of real Kubernetes.
"""

from packages.drydock.tests.actors.probes import deletions, jobs, nodes, workloads
from packages.drydock.tests.actors.probes.probed import Facts, Probe, Probed

PROBES: tuple[Probe, ...] = (*jobs.PROBES, *workloads.PROBES, *deletions.PROBES, *nodes.PROBES)

__all__ = ["PROBES", "Facts", "Probed"]

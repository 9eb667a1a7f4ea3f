"""Probes: what happens to things in a cluster, told as facts that can be compared between clusters.

Names, times and ids are replaced, so that the same probe tells the same of the sandbox and of real Kubernetes.
"""

from tests.sandbox.actors.probes import deletions, jobs, nodes, workloads
from tests.sandbox.actors.probes.probed import Facts, Probe, Probed

PROBES: tuple[Probe, ...] = (*jobs.PROBES, *workloads.PROBES, *deletions.PROBES, *nodes.PROBES)

__all__ = ["PROBES", "Facts", "Probed"]

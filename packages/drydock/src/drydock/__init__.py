"""An embedded Kubernetes for one machine and for virtual time, and real control planes beside it.

This is the public face, with `drydock.faults`; other modules may change without notice. Nothing is imported before it
is asked for: the supervisor's program runs without site-packages, and `drydock.pytest_plugin` loads in every test run.

Must not know: any operator that runs on it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drydock.actors.disruption.drain import Drain as Drain
    from drydock.actors.disruption.drain import DrainPolicy as DrainPolicy
    from drydock.actors.disruption.drift import Drift as Drift
    from drydock.actors.disruption.drift import Naming as Naming
    from drydock.actors.disruption.drift import Replacement as Replacement
    from drydock.actors.kubelet.machine import NodeTemplate as NodeTemplate
    from drydock.api.http import serve as serve
    from drydock.api.server import ADMIN as ADMIN
    from drydock.api.server import ApiServer as ApiServer
    from drydock.cluster import RUNTIMES as RUNTIMES
    from drydock.cluster import Cluster as Cluster
    from drydock.cluster import LocalOptions as LocalOptions
    from drydock.cluster import Nodes as Nodes
    from drydock.cluster import RuntimeName as RuntimeName
    from drydock.cluster import kubernetes_nodes as kubernetes_nodes
    from drydock.cluster import local_cluster as local_cluster
    from drydock.cluster import plain_nodes as plain_nodes
    from drydock.cluster import virtual_cluster as virtual_cluster
    from drydock.foreground import run_local_cluster as run_local_cluster
    from drydock.kubeconfig_file import ClusterAccess as ClusterAccess
    from drydock.kubeconfig_file import write_kubeconfig as write_kubeconfig
    from drydock.kubernetes.binaries import Binaries as Binaries
    from drydock.kubernetes.binaries import find_binaries as find_binaries
    from drydock.kubernetes.components import PlaneOptions as PlaneOptions
    from drydock.kubernetes.launcher import ControlPlane as ControlPlane
    from drydock.kubernetes.toolchain import BinariesMissing as BinariesMissing
    from drydock.kubernetes_fixture import Kubernetes as Kubernetes
    from drydock.kubernetes_fixture import RealKubernetes as RealKubernetes
    from drydock.nodes.cluster import RealCluster as RealCluster
    from drydock.nodes.cluster import RealOptions as RealOptions
    from drydock.nodes.faults import inject as inject
    from drydock.nodes.launcher import real_cluster as real_cluster
    from drydock.nodes.machine import NodesUnavailable as NodesUnavailable
    from drydock.nodes.machine import check_machine as check_machine
    from drydock.nodes.node import RealNode as RealNode
    from drydock.nodes.programs import find_node_programs as find_node_programs
    from drydock.runtime.contract import ContainerRun as ContainerRun
    from drydock.runtime.script import SCRIPT_ANNOTATION as SCRIPT_ANNOTATION
    from drydock.runtime.script import Script as Script
    from drydock.runtime.script import Scripts as Scripts
    from drydock.runtime.script import scripts_from as scripts_from
    from drydock.state_lock import state_folder as state_folder
    from drydock.virtual.loop import VirtualLoop as VirtualLoop
    from drydock.virtual.loop import run_virtual as run_virtual

_NAMES = {
    "drydock.actors.disruption.drain": ("Drain", "DrainPolicy"),
    "drydock.actors.disruption.drift": ("Drift", "Naming", "Replacement"),
    "drydock.actors.kubelet.machine": ("NodeTemplate",),
    "drydock.api.http": ("serve",),
    "drydock.api.server": ("ADMIN", "ApiServer"),
    "drydock.cluster": (
        "RUNTIMES",
        "Cluster",
        "LocalOptions",
        "Nodes",
        "RuntimeName",
        "kubernetes_nodes",
        "local_cluster",
        "plain_nodes",
        "virtual_cluster",
    ),
    "drydock.foreground": ("run_local_cluster",),
    "drydock.kubeconfig_file": ("ClusterAccess", "write_kubeconfig"),
    "drydock.kubernetes.binaries": ("Binaries", "find_binaries"),
    "drydock.kubernetes.components": ("PlaneOptions",),
    "drydock.kubernetes.launcher": ("ControlPlane",),
    "drydock.kubernetes.toolchain": ("BinariesMissing",),
    "drydock.kubernetes_fixture": ("Kubernetes", "RealKubernetes"),
    "drydock.nodes.cluster": ("RealCluster", "RealOptions"),
    "drydock.nodes.faults": ("inject",),
    "drydock.nodes.launcher": ("real_cluster",),
    "drydock.nodes.machine": ("NodesUnavailable", "check_machine"),
    "drydock.nodes.node": ("RealNode",),
    "drydock.nodes.programs": ("find_node_programs",),
    "drydock.runtime.contract": ("ContainerRun",),
    "drydock.runtime.script": ("SCRIPT_ANNOTATION", "Script", "Scripts", "scripts_from"),
    "drydock.state_lock": ("state_folder",),
    "drydock.virtual.loop": ("VirtualLoop", "run_virtual"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'drydock' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(home), name)
    return found


def __dir__() -> list[str]:
    return sorted([*_HOMES, "faults"])

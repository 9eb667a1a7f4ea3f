"""What a machine may lack: an S3 server. Tests that need it are skipped; with `MOORING_REQUIRE` they fail."""

from mooring.model.errors import Misconfigured
from mooring_blast.demo.object_store import find_program
from packages.mooring.tests.requirements import absent


def require_object_store() -> str:
    """The path of the server that tools/object-store builds."""
    try:
        return str(find_program())
    except Misconfigured as missing:
        absent("object-store", str(missing))

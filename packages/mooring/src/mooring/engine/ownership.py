"""Who owns what Mooring makes: the object that asked for it, so that both go together."""

from typing import Any

from mooring.model import names


def owner_reference(kind: str, name: str, uid: str, *, blocks_deletion: bool = True) -> dict[str, Any]:
    """The controlling owner, one of Mooring's own kinds. Foreground deletion waits for what `blocks_deletion`."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": blocks_deletion,
    }

"""Who owns what Mooring makes: the object that asked for it, so that both go together."""

from typing import Any

from hawser.views import Object
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


def is_controlled_by(found: Object, uid: str) -> bool:
    """Whether the controlling owner of an object is the one with this uid."""
    controller = found.metadata.controller
    return controller is not None and controller.uid == uid

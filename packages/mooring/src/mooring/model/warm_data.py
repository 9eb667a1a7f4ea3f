"""The data that a Warmup has put on nodes: folders that its deletion removes if `reclaim` is Delete."""

from enum import StrEnum

import msgspec


class CopyState(StrEnum):
    """How far the removal of one folder is. Empty while the Warmup is in use."""

    WAITING = "waiting"
    REMOVING = "removing"
    REMOVED = "removed"
    GONE = "gone"  # with its node
    LEFT = "left"  # the data is still there: see `why`


SETTLED = frozenset({CopyState.REMOVED, CopyState.GONE, CopyState.LEFT})


class DataCopy(msgspec.Struct, rename="camel", frozen=True):
    """A folder on a node that may hold data of a Warmup."""

    path: str = ""
    node: str = ""
    node_uid: str = msgspec.field(default="", name="nodeUID")
    state: str = ""
    why: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.path, self.node_uid)


def is_data_folder(path: str) -> bool:
    """Whether data can be mounted there: Kubernetes refuses colons, and / belongs to the node."""
    parts = path.split("/")
    return path.startswith("/") and any(parts) and not {".", ".."} & set(parts) and ":" not in path

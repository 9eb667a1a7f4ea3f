"""How soon a change deserves a look at its pool: claims come and go by the hundred, and most of them concern nobody."""

from dataclasses import fields
from operator import attrgetter

import msgspec

from mooring.model.pool import Pool, PoolStatus
from mooring.model.worker import Worker

SOON_SECONDS = 0.05  # enough to take what belongs together in one look
LEISURELY_SECONDS = 1.0  # nothing is to be done, only to be told

_OF_A_CLAIM = frozenset({"stamp", "shield", "resource_version"})
_of_the_worker = attrgetter(*(field.name for field in fields(Worker) if field.name not in _OF_A_CLAIM))
_NO_STATUS = PoolStatus()


def changed_hands(before: Worker | None, after: Worker | None) -> bool:
    """Whether nothing but a claim came or went: the worker itself is as it was."""
    return before is not None and after is not None and bool(_of_the_worker(before) == _of_the_worker(after))


def told_only(before: Pool | None, after: Pool | None) -> bool:
    """Whether nothing but the status of a pool changed."""
    if before is None or after is None:
        return False
    return msgspec.structs.replace(before, status=_NO_STATUS) == msgspec.structs.replace(after, status=_NO_STATUS)

"""The objects that a change is about. Most readers skip most changes: hundreds of claims may begin and end a second."""

from dataclasses import fields
from operator import attrgetter

import msgspec

from mooring.model.pool import Pool, PoolStatus
from mooring.model.worker import Worker

_OF_A_CLAIM = frozenset({"stamp", "marks", "resource_version", "tenant", "tenant_since"})
_of_the_worker = attrgetter(*(field.name for field in fields(Worker) if field.name not in _OF_A_CLAIM))
_NO_STATUS = PoolStatus()


def is_claim_only(before: Worker | None, after: Worker | None) -> bool:
    """Whether nothing but a claim came or went: the worker itself is as it was."""
    return before is not None and after is not None and bool(_of_the_worker(before) == _of_the_worker(after))


def is_status_only(before: Pool | None, after: Pool | None) -> bool:
    """Whether nothing but the status of a pool changed."""
    if before is None or after is None:
        return False
    return msgspec.structs.replace(before, status=_NO_STATUS) == msgspec.structs.replace(after, status=_NO_STATUS)

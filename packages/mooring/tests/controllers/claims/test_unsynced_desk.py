"""A replica that has just started does not deny what it has not seen yet."""

from types import SimpleNamespace
from typing import Any

import pytest

from mooring.controllers.claims.desk import ClaimDesk, UnknownPool
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Unavailable


@pytest.mark.parametrize(("synced", "error"), [(False, Unavailable), (True, UnknownPool)])
async def test_a_pool_is_unknown_only_when_the_caches_are_synced(synced: bool, error: type[Exception]) -> None:
    context: Any = SimpleNamespace(client=None, ledger=None, clock=None, liveness=None, entropy=None)
    fleet: Any = SimpleNamespace(synced=synced, pools={}, pool=lambda _: None)
    parts: list[Any] = [None] * 5
    desk = ClaimDesk(context, fleet, *parts)
    with pytest.raises(error):
        await desk.claim("queries/duck", ClaimRequest("acme"))

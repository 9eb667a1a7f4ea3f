"""What a live read proves about an object."""

from typing import Any

import pytest

from hawser.client import KubeClient
from hawser.resources import PODS
from hawser.transport import Request, Response
from mooring.engine.absence import live_uid
from packages.hawser.tests.tiny_api import answer


class Answering:
    """Says the same to everybody."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self._status, self._body = status, body

    async def send(self, request: Request) -> Response:
        return answer(self._status, self._body)


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (200, {"metadata": {"name": "w", "uid": "u-1"}}, "u-1"),
        (404, {"kind": "Status", "code": 404, "reason": "NotFound"}, ""),
        (403, {"kind": "Status", "code": 403, "reason": "Forbidden"}, None),
        (503, {"kind": "Status", "code": 503, "reason": "ServiceUnavailable"}, None),
    ],
)
async def test_only_a_live_404_says_that_nothing_has_the_name(
    status: int, body: dict[str, Any], found: str | None
) -> None:
    client = KubeClient(Answering(status, body))
    assert await live_uid(client, PODS, "w", "runners") == found

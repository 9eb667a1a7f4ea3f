"""Every write of a control plane that changes or deletes an object says which object, as it was seen.

A write without this changes whatever stands under the name by then. All stages of the tests record their writes; a test
in which an unfenced one was sent fails.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from drydock.faults import resource_of
from hawser.transport import Request, Response, Transport
from mooring.incidents.stage import Audience, Setting, Stage

_APPLY = "application/apply-patch+yaml"
_UID, _VERSION = "/metadata/uid", "/metadata/resourceVersion"

# What fences a change besides uid and version: the holder of a lease.
_CONTENT = ("/spec/holderIdentity",)
# Orders of people: they name the object, and mean it in whatever version it is.
_ORDERS = {("DELETE", "managedservices"), ("PATCH", "warmups"), ("PATCH", "submissions")}


@dataclass(frozen=True, slots=True)
class Fence:
    """What a request insists on."""

    uid: bool = False
    version: bool = False
    content: bool = False

    @property
    def any(self) -> bool:
        return self.uid or self.version or self.content


def fence_of(request: Request) -> Fence:
    """Read from the body: preconditions, metadata, or the tests of a JSON patch."""
    body = json.loads(request.body or b"{}")
    if isinstance(body, list):
        tested = {one["path"] for one in body if one["op"] == "test"}
        return Fence(_UID in tested, _VERSION in tested, any(path in tested for path in _CONTENT))
    named: dict[str, Any] = body.get("preconditions" if request.method == "DELETE" else "metadata") or {}
    return Fence(bool(named.get("uid")), bool(named.get("resourceVersion")))


def find_fault(request: Request, status: int) -> str:
    """What is missing; empty if nothing is."""
    if request.method not in ("DELETE", "PATCH") or any(key == "dryRun" for key, _ in request.query):
        return ""
    kind, fence = resource_of(request.path), fence_of(request)
    what = f"{request.method} {request.path}"
    if (request.method, kind) in _ORDERS and fence.uid and not request.path.endswith("/status"):
        return ""
    if request.method == "DELETE":
        return "" if fence.uid and fence.version else f"{what} has no uid or no version"
    if request.headers.get("content-type") == _APPLY:
        return "" if status == 201 or (fence.uid and fence.version) else f"{what} applies over an object unseen"
    if request.path.endswith("/status"):
        return "" if fence.version else f"{what} has no version"
    if kind == "pods":
        return "" if fence.uid else f"{what} has no uid"
    return "" if fence.any else f"{what} has no fence"


class FenceTransport:
    """Notes every unfenced write, and passes it on."""

    def __init__(self, inner: Transport, faults: list[str]) -> None:
        self._inner = inner
        self._faults = faults

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if 200 <= response.status < 300 and (fault := find_fault(request, response.status)):
            self._faults.append(fault)
        return response


def watch_fences(patch: pytest.MonkeyPatch) -> list[str]:
    """From now on every stage notes the unfenced writes of its control planes here."""
    faults: list[str] = []
    prepare = Stage.__init__

    def prepared(stage: Stage, setting: Setting, audience: Audience) -> None:
        prepare(stage, setting, audience)
        stage.sandbox = replace(stage.sandbox, transport=FenceTransport(stage.sandbox.transport, faults))

    patch.setattr(Stage, "__init__", prepared)
    return faults

"""Objects as no API server should send them: a transport that changes every field of some objects at random."""

import copy
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from drydock.faults import lines_of
from hawser.clock import Entropy
from hawser.transport import Request, Response, Transport
from mooring.model import names

Body = dict[str, Any]

_LOOKED_INTO = 50  # items of a list; a longer one is one of ours
_KEPT = ("name", "namespace", "uid", "resourceVersion")  # without them it is not an object of this name at all
NASTY: tuple[Any, ...] = (
    None, "", " ", "0", "-1", "²", "٣", "NaN", "Infinity", "true", "x" * 70_000, "\x00", "\u202e\ud7ff", "a/b/c",
    "../..", "%s%n{0}", "'; DROP TABLE claims; --", "5000", str(10**30), str(2**63 - 5), str(2**63 - 1_000_003),
    "1e999", "12Ei", "-3Gi", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59", "yesterday", 0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**30, -(2**63), 0.5, 1e308,
    True, False, [], {}, [None], [[]], [{}], {"": ""}, {"a": {"b": []}}, ["x"] * 2_000,
)  # fmt: skip
_MARKS = tuple(
    value
    for key, value in vars(names).items()
    if key.isupper() and isinstance(value, str) and value.startswith(names.OWN_PREFIX)
)


class FuzzingTransport:
    """Around another transport. Objects that are chosen arrive changed; requests pass as they are."""

    def __init__(self, inner: Transport, entropy: Entropy, chosen: Callable[[Body], bool]) -> None:
        self._inner = inner
        self._entropy = entropy
        self._chosen = chosen
        self.active = True
        self.changed = 0

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if not self.active or not 200 <= response.status < 300:
            return response
        if any(key == "watch" for key, _ in request.query):
            return Response(response.status, response.headers, self._lines(response), response.close)
        body = self._whole(await response.read())
        return Response(response.status, response.headers, _once(body))

    async def _lines(self, response: Response) -> AsyncIterator[bytes]:
        async for line in lines_of(aiter(response)):
            try:
                event = msgspec.json.decode(line)
            except msgspec.DecodeError:
                yield line
                continue
            if event.get("type") in ("ADDED", "MODIFIED", "DELETED"):
                event["object"] = self._fuzz(event["object"])
                line = msgspec.json.encode(event) + b"\n"
            yield line

    def _whole(self, body: bytes) -> bytes:
        try:
            answer = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return body
        if isinstance(answer, dict) and isinstance(answer.get("items"), list):
            answer["items"] = [self._fuzz(item) for item in answer["items"]]
        elif isinstance(answer, dict) and "metadata" in answer:
            answer = self._fuzz(answer)
        return msgspec.json.encode(answer)

    def _fuzz(self, found: Body) -> Body:
        if not self.active or not self._chosen(found):
            return found
        self.changed += 1
        kept = {key: found["metadata"][key] for key in _KEPT if key in found["metadata"]}
        for _ in range(1 + self._entropy.below(4)):
            if self._entropy.fraction() < 0.3:
                self._mark(found)
            else:
                self._spoil(found)
        metadata = found.get("metadata")
        found["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), **kept}
        return found

    def _spoil(self, whole: Body) -> None:
        """One field, anywhere."""
        places = list(_places(whole))
        holder, key = places[self._entropy.below(len(places))]
        if self._entropy.fraction() < 0.2:
            del holder[key]
        else:
            holder[key] = self._nasty()

    def _mark(self, whole: Body) -> None:
        """One label or annotation of ours."""
        metadata = whole.get("metadata")
        if isinstance(metadata, dict):
            section = metadata.setdefault("annotations" if self._entropy.fraction() < 0.6 else "labels", {})
            if isinstance(section, dict):
                section[_MARKS[self._entropy.below(len(_MARKS))]] = self._nasty()

    def _nasty(self) -> Any:
        return copy.deepcopy(NASTY[self._entropy.below(len(NASTY))])


def _places(value: Any) -> Any:
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from _places(item)
    elif isinstance(value, list):
        for index, item in enumerate(value[:_LOOKED_INTO]):
            yield value, index
            yield from _places(item)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body

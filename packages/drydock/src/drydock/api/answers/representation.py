"""How an answer is written: whole objects, metadata only, or tables; as JSON or YAML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec
import yaml

from drydock.api.answers.status import Refusal, json_response
from drydock.api.kinds.kind import Kind, Object
from drydock.api.printing.tables import table_for
from drydock.api.storage.store import Stored, without_type
from hawser.transport import Response

Form = Literal["object", "PartialObjectMetadata", "PartialObjectMetadataList", "Table"]

JSON = "application/json"
YAML = "application/yaml"
_META = "meta.k8s.io/v1"
_AVAILABLE = "application/json, application/yaml, application/json;stream=watch"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the client wants to read."""

    media_type: str = JSON
    form: Form = "object"
    pretty: bool = False
    include: str = "Metadata"  # what a table row carries of its object

    def response(self, status: int, body: bytes, headers: dict[str, str]) -> Response:
        """A whole answer from its JSON."""
        if self.media_type == YAML:
            text = yaml.safe_dump(msgspec.json.decode(body), allow_unicode=True)
            return json_response(status, text.encode(), {**headers, "content-type": YAML})
        if self.pretty:
            body = msgspec.json.format(body, indent=2) + b"\n"
        return json_response(status, body, headers)


def negotiate(header: str, query: dict[str, str]) -> Accepted:
    """The first acceptable of the `accept` header's choices; 406 when there is none."""
    pretty = query.get("pretty", "") not in ("", "0", "false")
    for choice in header.split(",") if header.strip() else ["*/*"]:
        media_type, *rest = (part.strip() for part in choice.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest)
        media_type = {"*/*": JSON, "application/*": JSON, "text/yaml": YAML}.get(media_type.lower(), media_type.lower())
        form = _form(parameters)
        if media_type in (JSON, YAML) and form is not None:
            return Accepted(media_type, form, pretty, query.get("includeObject", "Metadata"))
    raise Refusal(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {_AVAILABLE}")


def _form(parameters: dict[str, str]) -> Form | None:
    match parameters.get("as"):
        case None:
            return "object"
        case "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" as form:
            known = parameters.get("g") == "meta.k8s.io" and parameters.get("v") == "v1"
            return form if known else None
        case _:
            return None


class Writer:
    """Writes objects of one kind in one form."""

    def __init__(self, kind: Kind, accepted: Accepted, now: Callable[[], datetime]) -> None:
        self._kind = kind
        self._accepted = accepted
        self._now = now
        head = msgspec.json.encode({"kind": kind.kind, "apiVersion": kind.api_version})
        self._head = head[:-1] + b","

    def identity(self, first: bool) -> tuple[object, ...]:
        """Writers of the same identity write the same event object."""
        form = self._accepted.form
        return (
            (self._kind.version, form, self._accepted.include, first) if form == "Table" else (self._kind.version, form)
        )

    def one(self, stored: Stored) -> bytes:
        """A single object."""
        match self._accepted.form:
            case "object":
                return self._whole(stored)
            case "PartialObjectMetadata":
                return msgspec.json.encode(_metadata_only(stored.object))
            case "Table":
                return self._table([stored.object], {"resourceVersion": str(stored.version)})
            case "PartialObjectMetadataList" as form:
                raise _not_acceptable(f"{form}, but the requested object is not a list (*core.{self._kind.kind})")

    def event_object(self, stored: Stored, first: bool) -> bytes:
        """The object of a watch event; only the first table of a stream names its columns."""
        match self._accepted.form:
            case "object":
                return self._whole(stored)
            case "Table":
                table = self._make_table([stored.object], {"resourceVersion": str(stored.version)})
                if not first:
                    table["columnDefinitions"] = None
                return msgspec.json.encode(table)
            case _:
                return msgspec.json.encode(_metadata_only(stored.object))

    def many(self, items: Sequence[Stored], list_metadata: Object) -> bytes:
        """A list."""
        match self._accepted.form:
            case "object":
                return self._list(items, list_metadata)
            case "PartialObjectMetadataList":
                partial = [_metadata_only(stored.object) for stored in items]
                return msgspec.json.encode(
                    {
                        "kind": "PartialObjectMetadataList",
                        "apiVersion": _META,
                        "metadata": list_metadata,
                        "items": partial,
                    }
                )
            case "Table":
                return self._table([stored.object for stored in items], list_metadata)
            case "PartialObjectMetadata" as form:
                raise _not_acceptable(f"{form}, but the requested object is a list (*core.{self._kind.kind}List)")

    def _whole(self, stored: Stored) -> bytes:
        if stored.encoded.startswith(self._head):
            return stored.encoded
        return msgspec.json.encode({**stored.object, "apiVersion": self._kind.api_version})

    def _list(self, items: Sequence[Stored], list_metadata: Object) -> bytes:
        head = msgspec.json.encode(
            {"kind": f"{self._kind.kind}List", "apiVersion": self._kind.api_version, "metadata": list_metadata}
        )
        # Lists of built-in kinds do not repeat kind and apiVersion in every item; those of custom kinds do.
        write = self._whole if self._kind.custom else _untyped
        return head[:-1] + b',"items":[' + b",".join([write(stored) for stored in items]) + b"]}"

    def _table(self, objects: list[Object], list_metadata: Object) -> bytes:
        return msgspec.json.encode(self._make_table(objects, list_metadata))

    def _make_table(self, objects: list[Object], list_metadata: Object) -> dict[str, Any]:
        table = table_for(self._kind, objects, self._now(), include=self._accepted.include)
        return {**table, "metadata": list_metadata}


def _untyped(stored: Stored) -> bytes:
    return without_type(stored.encoded)


def _metadata_only(whole: Object) -> dict[str, Any]:
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": whole["metadata"]}


def _not_acceptable(why: str) -> Refusal:
    return Refusal(406, "NotAcceptable", f"you requested {why}")

"""The OpenAPI documents of the kinds being served: /openapi/v2 whole, /openapi/v3 by group version; both in JSON.

They are written when first asked for, and kept: a new set of kinds gets a new `OpenApi`.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import msgspec

from drydock.api.discovery import Document, sealed
from drydock.api.kinds.kind import Kind
from drydock.api.openapi.paths import PathWriter
from drydock.api.openapi.schemas import write_kinds

_INFO = {"title": "Kubernetes", "version": "1.36"}
_JSON_TYPES = ("application/json", "application/*", "*/*")
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"  # asked for with @v1.0, which is no media type
# kubectl reads version 3, and asks for version 2 in protobuf only to check a `kind: List` by itself. A message without
# bytes is a document without definitions: kubectl then checks nothing, and the server checks each item.
_WITHOUT_DEFINITIONS = Document(b"", _PROTOBUF)


class OpenApi:
    """The documents of one set of kinds."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = list(kinds)
        self._versions: dict[str, Document] = {}

    def find(self, path: str, accept: str = "", query: dict[str, str] | None = None) -> Document | None:
        """The document at a path; None when there is none."""
        match path.strip("/").split("/"):
            case ["openapi", "v2"]:
                return self._v2 if _accepts_json(accept) else _WITHOUT_DEFINITIONS
            case ["openapi", "v3"]:
                return self._index
            case ["openapi", "v3", *rest]:
                return self._version("/".join(rest), (query or {}).get("hash", ""))
            case _:
                return None

    @cached_property
    def _v2(self) -> Document:
        return sealed(msgspec.json.encode(_describe(self._kinds, 2)))

    @cached_property
    def _index(self) -> Document:
        paths = {}
        for name in sorted({_address(kind) for kind in self._kinds}):
            tag = self._version(name, "")
            if tag is not None:
                paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={tag.headers['etag'].strip(chr(34))}"}
        return Document(msgspec.json.encode({"paths": paths}))

    def _version(self, name: str, wanted: str) -> Document | None:
        """One group version. A client that asks for an outdated hash is sent to the current one."""
        if name not in self._versions:
            kinds = [kind for kind in self._kinds if _address(kind) == name]
            if not kinds:
                return None
            self._versions[name] = sealed(msgspec.json.encode(_describe(kinds, 3)))
        document = self._versions[name]
        current = document.headers["etag"].strip('"')
        if wanted and wanted != current:
            return Document(b"", headers={"location": f"/openapi/v3/{name}?hash={current}"}, status=301)
        return document


def _address(kind: Kind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def _accepts_json(accept: str) -> bool:
    return not accept or any(choice.split(";")[0].strip() in _JSON_TYPES for choice in accept.split(","))


def _describe(kinds: list[Kind], version: int) -> dict[str, Any]:
    schemas = write_kinds(kinds, 2 if version == 2 else 3)
    writer = PathWriter(schemas, version)
    paths = {path: item for kind in kinds for path, item in writer.paths(kind).items()}
    if version == 2:
        return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": schemas.definitions}
    return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": schemas.definitions}}

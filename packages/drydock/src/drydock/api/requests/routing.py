"""What a request path and method mean: a verb on a resource, or a path of the server's own."""

from dataclasses import dataclass

from drydock.api.access.rbac import Attributes
from drydock.api.requests.selectors import parse_fields, selected_name
from hawser.transport import Request

_FALSE = ("", "0", "false")
_ON_ITEM = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_ON_COLLECTION = {
    "GET": "list",
    "HEAD": "list",
    "POST": "create",
    "DELETE": "deletecollection",
    "PUT": "update",
    "PATCH": "patch",
}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Route:
    """The parts of a request that say what it is about. A `path` is set when it is not about a resource."""

    verb: str
    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    path: str = ""

    def attributes(self, query: dict[str, str]) -> Attributes:
        """The same, as access rules see it."""
        if self.path:
            return Attributes(self.verb, path=self.path)
        name = self.name
        if not name and self.verb in ("list", "watch", "deletecollection"):
            name = selected_name(parse_fields(query.get("fieldSelector", "")))
        return Attributes(self.verb, self.group, self.plural, self.subresource, self._scope(), name)

    def _scope(self) -> str:
        if self.plural == "namespaces" and not self.group:
            return self.name
        return self.namespace


def is_true(text: str) -> bool:
    """A boolean parameter: anything but nothing, 0 and false."""
    return text.lower() not in _FALSE


def parse_route(request: Request, query: dict[str, str]) -> Route:
    """The meaning of a request; every path has one."""
    parts = [part for part in request.path.split("/") if part]
    match parts:
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return Route("get" if request.method == "HEAD" else request.method.lower(), path=request.path)
    namespace, plural, name, subresource = _words(group, rest)
    verb = (_ON_ITEM if name else _ON_COLLECTION).get(request.method, request.method.lower())
    if verb == "list" and is_true(query.get("watch", "")):
        verb = "watch"
    return Route(verb, group, version, plural, namespace, name, subresource)


def _words(group: str, rest: list[str]) -> tuple[str, str, str, str]:
    match rest:
        case ["namespaces", name, subresource] if not group and subresource in _NAMESPACE_SUBRESOURCES:
            return "", "namespaces", name, subresource
        case ["namespaces", namespace, plural, *tail]:
            return namespace, plural, tail[0] if tail else "", "/".join(tail[1:])
        case [plural, *tail]:
            return "", plural, tail[0] if tail else "", "/".join(tail[1:])
        case _:
            raise AssertionError("a resource path has at least one word")

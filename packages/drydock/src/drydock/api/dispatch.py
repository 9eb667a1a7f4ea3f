"""Which function carries out which verb on which resource."""

from collections.abc import Callable

from drydock.api.access.reviews import REVIEWS, review
from drydock.api.answers.status import Refusal
from drydock.api.cluster import Call, Cluster, not_run
from drydock.api.kinds.kind import Kind
from drydock.api.requests.routing import Route
from drydock.api.subresources.binding import bind
from drydock.api.subresources.eviction import evict
from drydock.api.subresources.scale import get_scale, patch_scale, update_scale
from drydock.api.subresources.token import request_token
from drydock.api.verbs.creating import create
from drydock.api.verbs.deleting import delete, delete_collection
from drydock.api.verbs.patching import patch
from drydock.api.verbs.reading import get, list_objects
from drydock.api.verbs.updating import update
from drydock.api.verbs.watching import watch
from hawser.transport import Response

Handler = Callable[[Cluster, Call], Response]

_ON_COLLECTION: dict[str, Handler] = {
    "list": list_objects,
    "watch": watch,
    "create": create,
    "deletecollection": delete_collection,
}
_ON_ITEM: dict[str, Handler] = {"get": get, "update": update, "patch": patch, "delete": delete}
_WHOLE: dict[str, Handler] = {"get": get, "update": update, "patch": patch}
_ON_SUBRESOURCE: dict[str, dict[str, Handler]] = {
    "status": _WHOLE,
    "finalize": {"update": update},
    "scale": {"get": get_scale, "update": update_scale, "patch": patch_scale},
    "eviction": {"create": evict},
    "binding": {"create": bind},
    "token": {"create": request_token},
    "ephemeralcontainers": _WHOLE,
    "resize": _WHOLE,
}


def find_handler(kind: Kind, route: Route) -> Handler:
    """The function for a route; 404 for a subresource the kind does not have, 405 for a verb it does not know."""
    if route.subresource:
        if route.subresource not in kind.subresources:
            raise no_such_resource()
        found = _ON_SUBRESOURCE.get(route.subresource, {}).get(route.verb)
    elif kind.plural in REVIEWS:
        found = review if route.verb == "create" and not route.name else None
    elif kind.plural == "bindings" and not kind.group:
        found = bind if route.verb == "create" else None
    elif route.name:
        found = _ON_ITEM.get(route.verb) if route.verb in kind.verbs else None
    else:
        found = _ON_COLLECTION.get(route.verb) if route.verb in kind.verbs else None
    if found is None or (kind.namespaced and not route.namespace and route.verb not in ("list", "watch")):
        raise _not_allowed(kind, route)
    return found


def _not_allowed(kind: Kind, route: Route) -> Refusal:
    if kind.use_instead and route.verb == "create":
        return not_run(kind, route.name)
    return Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def no_such_resource() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource")

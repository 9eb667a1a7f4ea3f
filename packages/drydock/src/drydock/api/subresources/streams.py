"""exec and portforward: a request that becomes a conversation with the kubelet of the pod's node."""

from drydock.api.access.rbac import Attributes, Authorizer
from drydock.api.answers.status import Refusal
from drydock.api.cluster import Call, Cluster, denied, not_found
from drydock.api.kinds.kind import Object
from drydock.api.requests.routing import is_true
from drydock.api.subresources.kubelets import Kubelets
from drydock.streaming.upgrade import Upgrade, UpgradeRefused, read_offer
from hawser.transport import Request, Response

STREAMS = ("exec", "portforward")
_FLAGS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}  # what a kubelet calls them
_HANDED_ON = ("connection", "upgrade", "sec-websocket-protocol", "x-stream-protocol-version")


async def open_stream(cluster: Cluster, kubelets: Kubelets, call: Call) -> Response:
    """What the kubelet answers: an `Upgrade`, or a refusal."""
    if call.route.verb not in ("get", "create"):
        raise Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    _check_create(cluster.authorizer, call)
    pod = cluster.require(call.kind, call.namespace, call.name).object
    path, query = _location(pod, call)
    node_name = pod["spec"].get("nodeName", "")
    if not node_name:
        raise Refusal(400, "BadRequest", f"pod {call.name} does not have a host assigned")
    node = cluster.store.lookup("", "nodes", "", node_name)
    if node is None:
        raise not_found("", "nodes", node_name)
    headers = {name: value for name, value in call.request.headers.items() if name in _HANDED_ON}
    try:
        read_offer(headers)
    except UpgradeRefused as refusal:
        raise Refusal(400, "BadRequest", refusal.message) from refusal
    answer = await kubelets.send(node, Request(call.request.method, path, query, headers))
    if isinstance(answer, Upgrade):
        return answer
    told = (await answer.read()).decode("utf-8", "replace").strip()
    code, reason = (404, "NotFound") if answer.status == 404 else (400, "BadRequest")
    raise Refusal(code, reason, told or "the node does not serve streams")


def _check_create(authorizer: Authorizer, call: Call) -> None:
    """A WebSocket begins with GET, which would need no more than `get`: `create` is asked for in any case."""
    route = call.route
    wanted = Attributes("create", route.group, route.plural, route.subresource, route.namespace, route.name)
    if route.verb != "create" and not authorizer.decide(call.user, wanted).allowed:
        raise denied(call.kind, call.name, "")


def _location(pod: Object, call: Call) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The kubelet's path and query."""
    place = f"{call.namespace}/{call.name}"
    if call.route.subresource == "portforward":
        return f"/portForward/{place}", tuple(pair for pair in call.request.query if pair[0] == "ports")
    container = _container(pod, call.query.get("container", ""))
    query = [(known, "1") for flag, known in _FLAGS.items() if is_true(call.query.get(flag, ""))]
    query += [pair for pair in call.request.query if pair[0] == "command"]
    return f"/exec/{place}/{container}", tuple(query)


def _container(pod: Object, asked: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    own = [container["name"] for container in spec["containers"]]
    every = [container["name"] for container in spec.get("initContainers") or ()] + own
    if asked:
        if asked not in every:
            raise Refusal(400, "BadRequest", f"container {asked} is not valid for pod {name}")
        return asked
    if len(own) == 1:
        return str(own[0])
    told = f"a container name must be specified for pod {name}, choose one of: [{' '.join(every)}]"
    raise Refusal(400, "BadRequest", told)

"""log: what a container has written, fetched from the kubelet of its node."""

from drydock.api.answers.status import Refusal, json_response
from drydock.api.cluster import Call, Cluster, not_found
from drydock.api.kinds.kind import Object
from drydock.api.requests.routing import is_true
from drydock.api.subresources.kubelets import Kubelets
from hawser.transport import Request, Response

_FLAGS = ("follow", "previous", "timestamps")
_VALUES = ("sinceSeconds", "sinceTime", "tailLines", "limitBytes", "stream")
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


async def read_log(cluster: Cluster, kubelets: Kubelets, call: Call) -> Response:
    """The log of one container of a pod."""
    pod = cluster.require(call.kind, call.namespace, call.name).object
    container = _container(pod, call.query.get("container", ""))
    node_name = pod["spec"].get("nodeName", "")
    if not node_name:
        return json_response(204, b"")
    node = cluster.store.lookup("", "nodes", "", node_name)
    if node is None:
        raise not_found("", "pods", node_name)  # kube-apiserver, too, says pods here
    query = [(flag, "true") for flag in _FLAGS if is_true(call.query.get(flag, ""))]
    query += [(name, call.query[name]) for name in _VALUES if call.query.get(name)]
    path = f"/containerLogs/{call.namespace}/{call.name}/{container}"
    answer = await kubelets.send(node, Request("GET", path, tuple(query)))
    if answer.status >= 400:
        told = (await answer.read()).decode("utf-8", "replace").strip()
        raise Refusal(answer.status, "BadRequest" if answer.status == 400 else "NotFound", told)
    return Response(200, {"content-type": "text/plain"}, aiter(answer), answer.close)


def _container(pod: Object, asked: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    own = [container["name"] for container in spec["containers"]]
    first = [container["name"] for container in spec.get("initContainers") or ()]
    if asked:
        if asked not in (*own, *first):
            raise Refusal(400, "BadRequest", f"container {asked} is not valid for pod {name}")
        return asked
    if len(own) == 1:
        return str(own[0])
    preferred = (pod["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER, "")
    if preferred in own:
        return str(preferred)
    told = f"a container name must be specified for pod {name}, choose one of: [{' '.join(own)}]"
    if first:
        told += f" or one of the init containers: [{' '.join(first)}]"
    raise Refusal(400, "BadRequest", told)

"""token: a signed token for a service account, bound to a pod if asked."""

from datetime import timedelta

import msgspec

from drydock.api.access.tokens import ISSUER
from drydock.api.answers import causes
from drydock.api.answers.status import Cause, Refusal, invalid
from drydock.api.cluster import Call, Cluster, conflict, timestamp
from drydock.api.kinds.kind import Kind, Object
from drydock.api.requests.bodies import decode_part
from drydock.api.types import LIBRARY
from hawser.transport import Response

_GROUP = "authentication.k8s.io"
_TOKEN_REQUEST = Kind(_GROUP, "v1", "TokenRequest", "tokenrequests", True, LIBRARY["authentication.TokenRequest"])
_DEFAULT_SECONDS = 3600
_SHORTEST_SECONDS = 600
_LONGEST_SECONDS = 1 << 32
_POD_SECONDS = 3607  # what the admission of pods asks for
_EXTENDED_SECONDS = 365 * 24 * 3600


def request_token(cluster: Cluster, call: Call) -> Response:
    """Answer a TokenRequest."""
    account = cluster.require(call.kind, call.namespace, call.name).object
    spec: Object = decode_part(call.request, _TOKEN_REQUEST).get("spec") or {}
    seconds = spec.get("expirationSeconds") or _DEFAULT_SECONDS
    _check(spec, seconds)
    audiences = spec.get("audiences") or [ISSUER]
    bound = spec.get("boundObjectRef")
    # The token that every pod gets stays valid after the time that the kubelet renews it: some programs read it once.
    extended = bool(bound) and audiences == [ISSUER] and seconds == _POD_SECONDS
    good_for = _EXTENDED_SECONDS if extended else seconds
    token = cluster.signer.issue(account, audiences, good_for, _bound_pod(cluster, call, bound)).token
    expires = cluster.clock.now() + timedelta(seconds=seconds)
    metadata = {key: account["metadata"][key] for key in ("name", "namespace", "uid")}
    answer = {
        "kind": "TokenRequest",
        "apiVersion": _TOKEN_REQUEST.api_version,
        "metadata": {**metadata, "creationTimestamp": timestamp(cluster.clock.now())},
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound},
        "status": {"token": token, "expirationTimestamp": timestamp(expires)},
    }
    return call.accepted.response(201, msgspec.json.encode(answer), {})


def _check(spec: Object, seconds: object) -> None:
    wrong: list[Cause] = []
    if not isinstance(seconds, int) or seconds < _SHORTEST_SECONDS:
        told = "may not specify a duration less than 10 minutes"
        wrong.append(causes.invalid("spec.expirationSeconds", seconds, told))
    elif seconds > _LONGEST_SECONDS:
        wrong.append(
            causes.invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
        )
    if wrong:
        raise invalid("TokenRequest", _GROUP, "", wrong)


def _bound_pod(cluster: Cluster, call: Call, bound: Object | None) -> Object | None:
    if not bound:
        return None
    if bound.get("kind") != "Pod" or bound.get("apiVersion") != "v1":
        told = f"cannot bind token to object of type {bound.get('apiVersion')}, Kind={bound.get('kind')}"
        raise Refusal(400, "BadRequest", told)
    pod = cluster.require(cluster.builtin("", "pods"), call.namespace, bound.get("name", "")).object
    name = pod["metadata"]["name"]
    used = pod["spec"].get("serviceAccountName", "")
    if used != call.name:
        told = f'cannot bind token for serviceaccount "{call.name}" to pod running with different serviceaccount name.'
        raise Refusal(400, "BadRequest", told)
    if bound.get("uid") not in (None, "", pod["metadata"]["uid"]):
        why = (
            f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record."
            " The object might have been deleted and then recreated"
        )
        raise conflict("", "Pod", name, why)
    return pod

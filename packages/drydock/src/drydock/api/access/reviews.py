"""Reviews: questions about tokens and access that are asked by creating an object and never stored."""

from collections.abc import Callable
from typing import Any

import msgspec

from drydock.api.access.identity import User
from drydock.api.access.rbac import Attributes
from drydock.api.access.tokens import ISSUER
from drydock.api.answers import causes
from drydock.api.answers.status import Refusal, invalid
from drydock.api.cluster import Call, Cluster, timestamp
from drydock.api.kinds.kind import Object
from drydock.api.requests.bodies import read_object
from drydock.api.requests.options import write_options
from hawser.transport import Response

Answer = Callable[[Cluster, Call, Object], Object]


def review(cluster: Cluster, call: Call) -> Response:
    """Answer the review of the body."""
    options = write_options(call.query, call.user_agent, "CreateOptions")
    asked = read_object(call.request, call.kind, options.field_validation, call.warnings)
    metadata = {key: value for key, value in asked["metadata"].items() if key != "managedFields"}
    answer: Object = {"kind": asked["kind"], "apiVersion": asked["apiVersion"], "metadata": metadata}
    if "spec" in asked:
        answer["spec"] = asked["spec"]
    answer["status"] = REVIEWS[call.kind.plural](cluster, call, asked)
    if call.kind.plural == "selfsubjectreviews":
        metadata["creationTimestamp"] = timestamp(cluster.clock.now())
    return call.accepted.response(201, msgspec.json.encode(answer), {})


def _token(cluster: Cluster, call: Call, asked: Object) -> Object:
    spec = asked.get("spec") or {}
    if not spec.get("token"):
        raise Refusal(400, "BadRequest", "token is required for TokenReview in authentication")
    proof = cluster.authenticator.prove(spec["token"], tuple(spec.get("audiences") or (ISSUER,)))
    if proof is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _user_info(proof.user), "audiences": list(proof.audiences)}


def _who(cluster: Cluster, call: Call, asked: Object) -> Object:
    return {"userInfo": _user_info(call.user)}


def _own_access(cluster: Cluster, call: Call, asked: Object) -> Object:
    return _access(cluster, asked, call.user, "")


def _access_of(cluster: Cluster, call: Call, asked: Object) -> Object:
    spec = asked.get("spec") or {}
    if not spec.get("user") and not spec.get("groups"):
        told = "at least one of user or group must be specified"
        raise invalid("", "authorization.k8s.io", "", [causes.invalid("spec.user", "", told)])
    user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
    return _access(cluster, asked, user, call.namespace)


def _access(cluster: Cluster, asked: Object, user: User, namespace: str) -> Object:
    spec = asked.get("spec") or {}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        told = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        wrong = causes.invalid("spec.resourceAttributes", resource, told)
        raise invalid("", "authorization.k8s.io", "", [wrong])
    if namespace and (resource or {}).get("namespace") != namespace:
        told = f"must match metadata.namespace of {namespace}"
        wrong = causes.invalid("spec.resourceAttributes.namespace", (resource or {}).get("namespace", ""), told)
        raise invalid("", "authorization.k8s.io", "", [wrong])
    decision = cluster.authorizer.decide(user, _attributes(resource, path))
    return {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}


def _attributes(resource: Object | None, path: Object | None) -> Attributes:
    if resource is None:
        return Attributes((path or {}).get("verb", ""), path=(path or {}).get("path", ""))
    wanted = {
        key: str(resource.get(key, "")) for key in ("verb", "group", "resource", "subresource", "namespace", "name")
    }
    return Attributes(**wanted)


def _rules(cluster: Cluster, call: Call, asked: Object) -> Object:
    namespace = (asked.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise Refusal(400, "BadRequest", "no namespace on request")
    rules = cluster.authorizer.rules_for(call.user, namespace)
    return {
        "resourceRules": [rule for rule in rules if "nonResourceURLs" not in rule],
        "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
        "incomplete": False,
    }


def _user_info(user: User) -> dict[str, Any]:
    info: dict[str, Any] = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


REVIEWS: dict[str, Answer] = {
    "tokenreviews": _token,
    "selfsubjectreviews": _who,
    "selfsubjectaccessreviews": _own_access,
    "subjectaccessreviews": _access_of,
    "localsubjectaccessreviews": _access_of,
    "selfsubjectrulesreviews": _rules,
}

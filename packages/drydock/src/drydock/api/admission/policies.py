"""ValidatingAdmissionPolicies: writes that break a bound policy are refused.

Not run: parameters, selectors of namespaces and objects, audit annotations, the actions Warn and Audit. Variables are
evaluated in order, not when they are used.
"""

from collections.abc import Iterable
from typing import Any

from drydock.api.access.identity import User
from drydock.api.answers.status import Refusal
from drydock.api.cel.rules import compile_expression
from drydock.api.cel.tokens import CelSyntaxError
from drydock.api.cel.values import CelError
from drydock.api.cluster import Cluster
from drydock.api.kinds.kind import Kind, Object

_GROUP = "admissionregistration.k8s.io"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_INVALID = 422


def check_policies(
    cluster: Cluster, kind: Kind, new: Object, old: Object | None, user: User, subresource: str = ""
) -> None:
    """Refuse a create (without `old`) or an update that a bound policy denies."""
    bindings = cluster.table(cluster.builtin(_GROUP, "validatingadmissionpolicybindings")).objects
    if not bindings or kind.group == _GROUP:
        return
    request = _request(kind, new, old, user, subresource)
    scope = {"object": new, "oldObject": old, "request": request}
    for binding in [stored.object for stored in bindings.values()]:
        spec = binding.get("spec") or {}
        policy = cluster.store.lookup(_GROUP, "validatingadmissionpolicies", "", spec.get("policyName", ""))
        if policy is None or "Deny" not in (spec.get("validationActions") or ()):
            continue
        rule = policy.get("spec") or {}
        if _matches(rule.get("matchConstraints") or {}, request):
            _judge(policy["metadata"]["name"], binding["metadata"]["name"], rule, scope)


def _request(kind: Kind, new: Object, old: Object | None, user: User, subresource: str) -> dict[str, Any]:
    return {
        "operation": "CREATE" if old is None else "UPDATE",
        "resource": {"group": kind.group, "version": kind.version, "resource": kind.plural},
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "subResource": subresource,
        "name": new["metadata"].get("name", ""),
        "namespace": new["metadata"].get("namespace", ""),
        "userInfo": {"username": user.name, "groups": list(user.groups), "uid": user.uid},
    }


def _matches(constraints: Object, request: dict[str, Any]) -> bool:
    rules = constraints.get("resourceRules") or ()
    excluded = constraints.get("excludeResourceRules") or ()
    return any(_fits(rule, request) for rule in rules) and not any(_fits(rule, request) for rule in excluded)


def _fits(rule: Object, request: dict[str, Any]) -> bool:
    resource, part = request["resource"], request["subResource"]
    name = f"{resource['resource']}/{part}" if part else resource["resource"]
    wild = {"*/*", f"{resource['resource']}/*", f"*/{part}" if part else "*"}
    return (
        _has(rule.get("apiGroups"), resource["group"])
        and _has(rule.get("apiVersions"), resource["version"])
        and _has(rule.get("operations"), request["operation"])
        and bool({name, *wild} & set(rule.get("resources") or ()))
        and (not rule.get("resourceNames") or request["name"] in rule["resourceNames"])
    )


def _has(wanted: Iterable[str] | None, value: str) -> bool:
    return bool({"*", value} & set(wanted or ()))


def _judge(policy: str, binding: str, rule: Object, scope: dict[str, Any]) -> None:
    ignores = rule.get("failurePolicy") == "Ignore"
    validation: Object = {}
    try:
        if not all(_run(one["expression"], scope) is True for one in rule.get("matchConditions") or ()):
            return
        variables: dict[str, Any] = {}
        scope = {**scope, "variables": variables}
        for variable in rule.get("variables") or ():
            variables[variable["name"]] = _run(variable["expression"], scope)
        for validation in rule.get("validations") or ():
            if _run(validation["expression"], scope) is not True:
                said = validation.get("message") or f"failed expression: {validation['expression'].strip()}"
                raise _refusal(policy, binding, scope["request"], said, validation.get("reason", ""))
    except (CelError, CelSyntaxError) as error:
        if not ignores:
            said = f"expression '{validation.get('expression', '')}' resulted in error: {error}"
            raise _refusal(policy, binding, scope["request"], said, "") from error


def _run(expression: str, scope: dict[str, Any]) -> Any:
    return compile_expression(expression).evaluate(scope)


def _refusal(policy: str, binding: str, request: dict[str, Any], said: str, reason: str) -> Refusal:
    resource = request["resource"]
    qualified = ".".join(filter(None, (resource["resource"], resource["group"])))
    denial = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {said}"
    return Refusal(
        _CODES.get(reason, _INVALID),
        reason if reason in _CODES else "Invalid",
        f'{qualified} "{request["name"]}" is forbidden: {denial}',
        kind=resource["resource"],
        group=resource["group"],
        name=request["name"],
    )

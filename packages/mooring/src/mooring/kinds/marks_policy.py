"""The admission policy that keeps Mooring's labels and annotations to Mooring's account.

Kubernetes' own controllers copy labels from templates to pods. They may do so with any mark that no worker carries:
a worker is only ever created by Mooring itself.
"""

from typing import Any

from hawser.resources import Resource
from hawser.views import PartialObject
from mooring.kinds.release import Release
from mooring.model import names

Body = dict[str, Any]

_GROUP, _KIND = "admissionregistration.k8s.io", "ValidatingAdmissionPolicy"
POLICIES = Resource(_GROUP, "v1", "validatingadmissionpolicies", _KIND, False, PartialObject)
BINDINGS = Resource(_GROUP, "v1", "validatingadmissionpolicybindings", f"{_KIND}Binding", False, PartialObject)

_WRITES = ["CREATE", "UPDATE"]
_POD_PARTS = ["pods", "pods/status", "pods/resize", "pods/ephemeralcontainers", "pods/binding"]
_WORKER_MARKS = (
    names.POOL,
    names.WORKER,
    names.OWNER,
    names.BUSY,
    names.CLAIM,
    names.EPOCH,
    names.STAMPED_AT,
    names.SEAL,
    names.TENANT,
    names.TENANT_SINCE,
    names.LEDGER,
    names.PLACEMENT,
    names.AVOIDS,
    names.ADOPTED,
    names.UNPROVEN,
)
_MESSAGE = f"labels and annotations under {names.OWN_PREFIX} are reserved to Mooring"


def policy_name(release: Release) -> str:
    """The name of the policy and of its binding."""
    return f"{release.cluster_name}-marks"


def policy_spec(account: str) -> Body:
    """The spec of the policy that leaves marks to this user."""
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                _rule("", [*_POD_PARTS, "serviceaccounts"]),
                _rule("batch", ["jobs", "jobs/status"]),
            ]
        },
        "matchConditions": [
            {"name": "somebody-else", "expression": f"request.userInfo.username != '{account}'"},
        ],
        "variables": _variables(),
        "validations": [
            _validation("variables.labels", "variables.oldLabels"),
            _validation("variables.annotations", "variables.oldAnnotations"),
            _validation("variables.templateLabels", "variables.oldTemplateLabels"),
            _validation("variables.templateAnnotations", "variables.oldTemplateAnnotations"),
        ],
    }


def marks_policy(release: Release) -> list[Body]:
    """The policy and its binding."""
    meta = {"name": policy_name(release), "labels": release.labels}
    binding = {"policyName": policy_name(release), "validationActions": ["Deny"]}
    spec = policy_spec(release.account)
    return [
        {"apiVersion": POLICIES.api_version, "kind": POLICIES.kind, "metadata": meta, "spec": spec},
        {"apiVersion": BINDINGS.api_version, "kind": BINDINGS.kind, "metadata": meta, "spec": binding},
    ]


def _rule(group: str, resources: list[str]) -> Body:
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": _WRITES, "resources": resources}


def _variables() -> list[Body]:
    found = {
        "controller": "request.userInfo.username == 'system:kube-controller-manager' ||"
        " (has(request.userInfo.groups) && 'system:serviceaccounts:kube-system' in request.userInfo.groups)",
        "workerMarks": str(list(_WORKER_MARKS)),
    }
    for old, holder in (("", "object"), ("old", "oldObject")):
        for field in ("labels", "annotations"):
            there = f"{holder} != null && has({holder}.metadata.{field})"
            found[_name(old, field)] = f"{there} ? {holder}.metadata.{field} : {{}}"
            template = f"{holder}.spec.template"
            there = (
                f"request.resource.resource == 'jobs' && {holder} != null && has({template}.metadata)"
                f" && has({template}.metadata.{field})"
            )
            found[_name(old, f"template{field.title()}")] = f"{there} ? {template}.metadata.{field} : {{}}"
    return [{"name": name, "expression": expression} for name, expression in found.items()]


def _name(old: str, field: str) -> str:
    return f"{old}{field[0].upper()}{field[1:]}" if old else field


def _validation(new: str, old: str) -> Body:
    """Marks stay as they are; a controller may add such that no worker carries."""
    ours = f"startsWith('{names.OWN_PREFIX}')"
    copied = "request.operation == 'CREATE' && variables.controller && !(key in variables.workerMarks)"
    kept = f"{new}.all(key, !key.{ours} || (key in {old} && {old}[key] == {new}[key]) || ({copied}))"
    return {
        "expression": f"{kept} && {old}.all(key, !key.{ours} || key in {new})",
        "message": _MESSAGE,
        "reason": "Forbidden",
    }

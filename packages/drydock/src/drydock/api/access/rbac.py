"""Who may do what: RBAC, read from the roles and bindings in the store."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from drydock.api.access.identity import User
from drydock.api.answers.status import Refusal
from drydock.api.kinds.kind import Object
from drydock.api.storage.store import Store, TableKey
from hawser.fitting.selectors import compile_selector

MASTERS = "system:masters"

_GROUP = "rbac.authorization.k8s.io"
_TABLES = tuple(TableKey(_GROUP, plural) for plural in ("clusterroles", "roles", "clusterrolebindings", "rolebindings"))


@dataclass(frozen=True, slots=True)
class Attributes:
    """What someone wants to do: to a resource, or to a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""  # set for requests that are not about a resource

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    """Allowed or not, and because of what."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """The rules that a binding gives to a subject: in one namespace, or everywhere."""

    namespace: str
    rules: tuple[Object, ...]
    told: str


class Authorizer:
    """Answers from an index of all bindings, made anew when a role or binding has changed."""

    def __init__(self, store: Store) -> None:
        self._tables = {key.plural: store.table(key) for key in _TABLES}
        self._versions: tuple[int, ...] = ()
        self._grants: dict[tuple[str, str], list[Grant]] = {}

    def decide(self, user: User, wanted: Attributes) -> Decision:
        """May the user do it?"""
        if MASTERS in user.groups:
            return Decision(True)
        for grant in self._grants_of(user, wanted.namespace):
            if any(_allows(rule, wanted) for rule in grant.rules):
                return Decision(True, grant.told)
        return Decision(False)

    def rules_for(self, user: User, namespace: str) -> list[Object]:
        """Every rule that holds for the user in a namespace."""
        if MASTERS in user.groups:
            everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            return [everything, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
        return [rule for grant in self._grants_of(user, namespace) for rule in grant.rules]

    def _grants_of(self, user: User, namespace: str) -> Iterator[Grant]:
        self._refresh()
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        for subject in subjects:
            for grant in self._grants.get(subject, ()):
                if not grant.namespace or grant.namespace == namespace:
                    yield grant

    def _refresh(self) -> None:
        versions = tuple(table.last_version for table in self._tables.values())
        if versions == self._versions:
            return
        grants: dict[tuple[str, str], list[Grant]] = defaultdict(list)
        for plural in ("clusterrolebindings", "rolebindings"):
            for stored in self._tables[plural].objects.values():
                self._index(stored.object, grants)
        self._versions, self._grants = versions, dict(grants)

    def _index(self, binding: Object, grants: dict[tuple[str, str], list[Grant]]) -> None:
        namespace = binding["metadata"].get("namespace", "")
        reference = binding["roleRef"]
        rules = tuple(self._rules(reference, namespace))
        for subject in binding.get("subjects") or ():
            told = _told(binding, subject)
            if subject["kind"] == "ServiceAccount":
                home = subject.get("namespace") or namespace
                key = ("User", f"system:serviceaccount:{home}:{subject['name']}")
            else:
                key = (subject["kind"], subject["name"])
            grants[key].append(Grant(namespace, rules, told))

    def _rules(self, reference: Object, namespace: str) -> Iterable[Object]:
        if reference["kind"] == "Role":
            role = self._tables["roles"].objects.get(f"{namespace}/{reference['name']}")
        else:
            role = self._tables["clusterroles"].objects.get(reference["name"])
        if role is None:
            return ()
        aggregation = role.object.get("aggregationRule")
        return self._aggregated(aggregation) if aggregation else role.object.get("rules") or ()

    def _aggregated(self, aggregation: dict[str, Any]) -> Iterator[Object]:
        selectors = [compile_selector(selector) for selector in aggregation.get("clusterRoleSelectors") or ()]
        for stored in self._tables["clusterroles"].objects.values():
            labels = stored.object["metadata"].get("labels") or {}
            if any(selects(labels) for selects in selectors):
                yield from stored.object.get("rules") or ()


def forbidden(user: User, wanted: Attributes) -> Refusal:
    """403 in kube-apiserver's own sentence."""
    if wanted.path:
        return Refusal(403, "Forbidden", f'forbidden: User "{user.name}" cannot {wanted.verb} path "{wanted.path}"')
    qualified = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
    subject = f'{qualified} "{wanted.name}"' if wanted.name else qualified
    scope = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    return Refusal(
        403,
        "Forbidden",
        f'{subject} is forbidden: User "{user.name}" cannot {wanted.verb} resource "{wanted.full_resource}"'
        f' in API group "{wanted.group}" {scope}',
        kind=wanted.resource,
        group=wanted.group,
        name=wanted.name,
    )


def _allows(rule: Object, wanted: Attributes) -> bool:
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and wanted.verb not in verbs:
        return False
    if wanted.path:
        return any(_path_matches(pattern, wanted.path) for pattern in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames") or ()
    return (
        _covers(rule.get("apiGroups") or (), wanted.group)
        and _resource_matches(rule.get("resources") or (), wanted)
        and (not names or wanted.name in names)
    )


def _covers(allowed: Sequence[str], wanted: str) -> bool:
    return "*" in allowed or wanted in allowed


def _resource_matches(allowed: Sequence[str], wanted: Attributes) -> bool:
    if _covers(allowed, wanted.full_resource):
        return True
    return bool(wanted.subresource) and f"*/{wanted.subresource}" in allowed


def _path_matches(pattern: str, path: str) -> bool:
    return pattern == "*" or pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _told(binding: Object, subject: Object) -> str:
    metadata, reference = binding["metadata"], binding["roleRef"]
    place = metadata.get("namespace", "")
    name = f"{metadata['name']}/{place}" if place else metadata["name"]
    if subject["kind"] == "ServiceAccount":
        whom = f'ServiceAccount "{subject["name"]}/{subject.get("namespace") or place}"'
    else:
        whom = f'{subject["kind"]} "{subject["name"]}"'
    return f'RBAC: allowed by {binding["kind"]} "{name}" of {reference["kind"]} "{reference["name"]}" to {whom}'

"""Roles and their bindings: what a rule needs, and that a binding keeps its role."""

from collections.abc import Iterator, Sequence
from typing import Any

from drydock.api.answers.causes import invalid, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object, PlainStrategy
from drydock.api.objects.names import dns_subdomain, path_segment

GROUP = "rbac.authorization.k8s.io"


class RoleStrategy(PlainStrategy):
    def __init__(self, *, namespaced: bool) -> None:
        self._namespaced = namespaced

    def prepare_create(self, new: Object, context: Context) -> None:
        new["rules"] = new.get("rules") or None  # a Go list without omitempty

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        self.prepare_create(new, context)

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        rules = new.get("rules") or ()
        return [cause for index, rule in enumerate(rules) for cause in self._wrong_rule(f"rules[{index}]", rule)]

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        return self.validate_create(new, context)

    def _wrong_rule(self, path: str, rule: dict[str, Any]) -> Iterator[Cause]:
        if not rule.get("verbs"):
            yield required(f"{path}.verbs", "verbs must contain at least one value")
        if urls := rule.get("nonResourceURLs"):
            if self._namespaced:
                yield invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                told = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", urls, told)
            return
        if not rule.get("apiGroups"):
            yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{path}.resources", "resource rules must supply at least one resource")


class RoleBindingStrategy(PlainStrategy):
    def __init__(self, *, namespaced: bool) -> None:
        self._kinds = ["Role", "ClusterRole"] if namespaced else ["ClusterRole"]
        self._namespaced = namespaced

    def prepare_create(self, new: Object, context: Context) -> None:
        reference = new.setdefault("roleRef", {})
        reference["apiGroup"] = reference.get("apiGroup") or GROUP
        for subject in new.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = subject.get("apiGroup") or GROUP

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        self.prepare_create(new, context)

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return list(self._wrong(new))

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        wrong = list(self._wrong(new))
        if new["roleRef"] != old["roleRef"]:
            fields = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
            reference = {go: new["roleRef"].get(name, "") for go, name in fields.items()}
            wrong.append(invalid("roleRef", reference, "cannot change roleRef"))
        return wrong

    def _wrong(self, binding: Object) -> Iterator[Cause]:
        reference = binding["roleRef"]
        if reference["apiGroup"] != GROUP:
            yield not_supported("roleRef.apiGroup", reference["apiGroup"], [GROUP])
        if reference.get("kind") not in self._kinds:
            yield not_supported("roleRef.kind", reference.get("kind", ""), self._kinds)
        name = reference.get("name") or ""
        if not name:
            yield required("roleRef.name")
        yield from (invalid("roleRef.name", name, told) for told in path_segment(name))
        for index, subject in enumerate(binding.get("subjects") or ()):
            yield from self._wrong_subject(f"subjects[{index}]", subject)

    def _wrong_subject(self, path: str, subject: dict[str, Any]) -> Iterator[Cause]:
        name, group = subject.get("name") or "", subject.get("apiGroup") or ""
        if not name:
            yield required(f"{path}.name")
        match subject.get("kind"):
            case "ServiceAccount":
                if name:
                    yield from (invalid(f"{path}.name", name, told) for told in dns_subdomain(name))
                if group:
                    yield not_supported(f"{path}.apiGroup", group, [""])
                if not self._namespaced and not subject.get("namespace"):
                    yield required(f"{path}.namespace")
            case "User" | "Group":
                if group != GROUP:
                    yield not_supported(f"{path}.apiGroup", group, [GROUP])
            case other:
                yield not_supported(f"{path}.kind", other or "", ["ServiceAccount", "User", "Group"])

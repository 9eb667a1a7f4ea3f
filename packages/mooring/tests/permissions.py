"""What Mooring asks of the API server, as the verbs and resources of RBAC, beside what the chart grants."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from hawser.transport import Request, Response, Transport
from mooring.incidents.stage import Audience, Setting, Stage
from mooring.model.permissions import CLUSTER_RULES

_PATH = re.compile(
    r"^/(?:api|apis/(?P<group>[^/]+))/[^/]+"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?$"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_CREATED = 201
# What every account may do (system:basic-user, system:discovery), and what the owner of a namespace grants by name.
FREE = {
    ("authentication.k8s.io", "selfsubjectreviews", "create"),
    ("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
}
BY_NAME = {("", "secrets", "get")}  # of a mint, if its pool has one


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """One right: the group, the resource with its subresource, and the verb."""

    group: str
    resource: str
    verb: str

    @property
    def needs_no_grant(self) -> bool:
        return (self.group, self.resource, self.verb) in FREE | BY_NAME


def granted() -> set[Use]:
    """All that the rules allow."""
    return {
        Use(group, resource, verb)
        for rule in CLUSTER_RULES
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def use_of(request: Request) -> Use | None:
    """The right that a request needs; None for those that everybody may send, such as /version."""
    found = _PATH.match(request.path)
    if found is None:
        return None
    plural, name, sub = found["plural"], found["name"], found["sub"]
    verb = _VERBS.get(request.method, "get")
    if request.method == "GET" and name is None:
        verb = "watch" if ("watch", "true") in request.query or ("watch", "1") in request.query else "list"
    if request.method == "DELETE" and name is None:
        verb = "deletecollection"
    return Use(found["group"] or "", f"{plural}/{sub}" if sub else plural, verb)


def uses_of_owners(request: Request) -> Iterator[Use]:
    """The right to name an owner whose deletion waits for the object."""
    body = json.loads(request.body or b"{}") if request.method in ("POST", "PATCH") else {}
    metadata = body.get("metadata", {}) if isinstance(body, dict) else {}
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("blockOwnerDeletion"):
            group, plural = owner["apiVersion"].partition("/")[0], f"{owner['kind'].lower()}s"
            yield Use(group, f"{plural}/finalizers", "update")


class RecordingTransport:
    """Records what every request needs, and passes it on."""

    def __init__(self, inner: Transport, used: set[Use]) -> None:
        self._inner = inner
        self._used = used

    async def send(self, request: Request) -> Response:
        use = use_of(request)
        if use is not None:
            self._used.add(use)
            self._used.update(uses_of_owners(request))
        response = await self._inner.send(request)
        if use is not None and use.verb == "patch" and response.status == _CREATED:
            self._used.add(Use(use.group, use.resource, "create"))  # an apply of an object that was not there
        return response


class Recorder:
    """The uses of all control planes on stages: scenarios, replays and plays of single kinds."""

    def __init__(self) -> None:
        self.used: set[Use] = set()

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """From now on every stage gives its control planes a recording transport."""
        prepare = Stage.__init__

        def prepared(stage: Stage, setting: Setting, audience: Audience) -> None:
            prepare(stage, setting, audience)
            stage.sandbox = replace(stage.sandbox, transport=RecordingTransport(stage.sandbox.transport, self.used))

        patch.setattr(Stage, "__init__", prepared)

    @property
    def ungranted(self) -> list[Use]:
        return sorted(use for use in self.used - granted() if not use.needs_no_grant)

    @property
    def unused(self) -> list[Use]:
        return sorted(granted() - self.used)


RECORDER = Recorder()

"""The options of a request: what its query, or the body of a deletion, asks for beyond the object itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from drydock.api.answers import causes
from drydock.api.answers.status import Cause, Refusal, invalid
from drydock.api.requests.routing import is_true

FieldValidation = Literal["Ignore", "Warn", "Strict"]

_VERSION = "resourceVersionMatch"
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Of a list, a watch, or a deletion of a collection."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continuation: str = ""
    timeout_seconds: int = 0
    bookmarks: bool = False
    send_initial_events: bool | None = None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Of a create, an update or a patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: FieldValidation = "Warn"
    force: bool = False


class Preconditions(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion"}):
    """What must be true of an object for it to be deleted."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    """Of a deletion, from its body or its query."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    dry_run: list[str] | None = None

    @property
    def is_dry_run(self) -> bool:
        return bool(self.dry_run)


def list_options(query: dict[str, str], *, watch: bool) -> ListOptions:
    """The options of a list or watch; 400 and 422 as they deserve."""
    initial = query.get("sendInitialEvents")
    options = ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        resource_version=query.get("resourceVersion", ""),
        match=query.get(_VERSION, ""),
        limit=max(0, _integer(query.get("limit", "0"))),
        continuation=query.get("continue", ""),
        timeout_seconds=max(0, _integer(query.get("timeoutSeconds", "0"))),
        bookmarks=is_true(query.get("allowWatchBookmarks", "")),
        send_initial_events=None if initial is None else is_true(initial),
    )
    wrong = _watch_mistake(options) if watch else _list_mistake(options)
    if wrong is not None:
        raise _invalid_options("ListOptions", [wrong])
    return options


def write_options(query: dict[str, str], user_agent: str, kind: str, *, apply: bool = False) -> WriteOptions:
    """The options of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions, for complaints."""
    dry_run, field_validation = query.get("dryRun", ""), query.get("fieldValidation", "")
    manager = query.get("fieldManager", "")
    wrong = []
    if dry_run not in ("", "All"):
        wrong.append(causes.not_supported("dryRun", [dry_run], ["All"]))
    if field_validation not in ("", "Ignore", "Warn", "Strict"):
        supported = ["", "Ignore", "Strict", "Warn"]
        wrong.append(causes.not_supported("fieldValidation", field_validation, supported))
    if len(manager) > 128:
        wrong.append(causes.too_long("fieldManager", 128))
    if apply and not manager:
        wrong.append(causes.required("fieldManager", "is required for apply patch"))
    if not apply and "force" in query:
        wrong.append(causes.forbidden("force", "may not be specified for non-apply patch"))
    if wrong:
        raise _invalid_options(kind, wrong)
    return WriteOptions(
        dry_run=dry_run == "All",
        field_manager=manager or user_agent.split("/")[0][:128] or "unknown",
        field_validation=_field_validation(field_validation),
        force=is_true(query.get("force", "")),
    )


def delete_options(query: dict[str, str], body: object) -> DeleteOptions:
    """The options of a deletion: the body's when there is one, else the query's."""
    try:
        options = msgspec.convert(_from_query(query) if body is None else body, DeleteOptions)
    except msgspec.ValidationError as error:
        raise Refusal(400, "BadRequest", f"DeleteOptions cannot be read: {error}") from error
    wrong = []
    if options.dry_run not in (None, [], ["All"]):
        wrong.append(causes.not_supported("dryRun", options.dry_run, ["All"]))
    if options.propagation_policy is not None and options.propagation_policy not in _POLICIES:
        wrong.append(causes.not_supported("propagationPolicy", options.propagation_policy, [*_POLICIES, "nil"]))
    if options.propagation_policy is not None and options.orphan_dependents is not None:
        told = "orphanDependents and deletionPropagation cannot be both set"
        wrong.append(causes.invalid("propagationPolicy", options.propagation_policy, told))
    if wrong:
        raise _invalid_options("DeleteOptions", wrong)
    return options


def _from_query(query: dict[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    if grace := query.get("gracePeriodSeconds"):
        found["gracePeriodSeconds"] = _integer(grace)
    if policy := query.get("propagationPolicy"):
        found["propagationPolicy"] = policy
    if orphan := query.get("orphanDependents"):
        found["orphanDependents"] = is_true(orphan)
    if dry_run := query.get("dryRun"):
        found["dryRun"] = [dry_run]
    return found


def _field_validation(text: str) -> FieldValidation:
    match text:
        case "Ignore" | "Strict":
            return text
        case _:
            return "Warn"


def _list_mistake(options: ListOptions) -> Cause | None:
    if options.send_initial_events is not None:
        return causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if not options.match:
        return None
    if not options.resource_version:
        return causes.forbidden(_VERSION, f"{_VERSION} is forbidden unless resourceVersion is provided")
    if options.continuation:
        return causes.forbidden(_VERSION, f"{_VERSION} is forbidden when continue is provided")
    if options.match not in ("Exact", "NotOlderThan"):
        return causes.not_supported(_VERSION, options.match, ["Exact", "NotOlderThan", ""])
    if options.match == "Exact" and options.resource_version == "0":
        return causes.forbidden(_VERSION, f'{_VERSION} "exact" is forbidden for resourceVersion "0"')
    return None


def _watch_mistake(options: ListOptions) -> Cause | None:
    if options.send_initial_events is None:
        if options.match:
            told = f"{_VERSION} is forbidden for watch unless sendInitialEvents is provided"
            return causes.forbidden(_VERSION, told)
    elif options.match != "NotOlderThan":
        return causes.forbidden(_VERSION, f"sendInitialEvents requires setting {_VERSION} to NotOlderThan")
    elif options.continuation:
        return causes.forbidden("continue", "continue is forbidden for watch")
    return None


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Refusal(400, "BadRequest", f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _invalid_options(kind: str, wrong: Sequence[Cause]) -> Refusal:
    return invalid(kind, "meta.k8s.io", "", wrong)

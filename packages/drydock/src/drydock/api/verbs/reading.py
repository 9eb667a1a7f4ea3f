"""get and list: one object, or many in pages that belong to the same moment."""

from dataclasses import dataclass
from itertools import islice

from drydock.api.answers.status import Cause, Refusal, RefusalForNow
from drydock.api.cluster import Call, Cluster
from drydock.api.kinds.kind import Object
from drydock.api.requests.options import ListOptions, list_options
from drydock.api.requests.selectors import Matcher, build_matcher, parse_fields, parse_labels
from drydock.api.storage.paging import LATEST, Continuation, ContinuationExpired, decode_continuation
from drydock.api.storage.store import Stored, Table
from hawser.transport import Response

_TOO_NEW_RETRY_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Page:
    """The items of one answer and the metadata of their list."""

    items: list[Stored]
    metadata: Object


def get(cluster: Cluster, call: Call) -> Response:
    """One object."""
    check_not_too_new(cluster, call.query.get("resourceVersion", ""), code=500, prefix="")
    stored = cluster.require(call.kind, call.namespace, call.name)
    return call.accepted.response(200, call.writer(cluster).one(stored), {})


def list_objects(cluster: Cluster, call: Call) -> Response:
    """All objects, those of a namespace, or those that selectors choose."""
    options = list_options(call.query, watch=False)
    page = select_page(cluster, call, options)
    return call.accepted.response(200, call.writer(cluster).many(page.items, page.metadata), {})


def select_page(cluster: Cluster, call: Call, options: ListOptions) -> Page:
    """The objects that a list asks for."""
    prefix = f"{call.namespace}/" if call.namespace else ""
    fields = parse_fields(options.field_selector)
    matches = build_matcher(call.kind, parse_labels(options.label_selector), fields)
    start = _start(cluster, options)
    table = cluster.table(call.kind)
    try:
        source = table.range(prefix, start.after) if start.version == LATEST else _at(table, start, prefix)
    except Refusal as refusal:
        raise ContinuationExpired(start.after) if options.continuation else refusal from None
    found = (stored for stored in source if matches is None or matches(stored.object))
    items = list(islice(found, options.limit)) if options.limit else list(found)
    version = cluster.store.version if start.version == LATEST else start.version
    metadata: Object = {"resourceVersion": str(version)}
    if options.limit and len(items) == options.limit:
        rest = list(found) if matches is None else list(islice(found, 1))
        if rest:
            metadata["continue"] = Continuation(version, items[-1].key.removeprefix(prefix)).encode()
            if matches is None:
                metadata["remainingItemCount"] = len(rest)
    return Page(items, metadata)


def _at(table: Table, start: Continuation, prefix: str) -> list[Stored]:
    return list(table.range_at(start.version, prefix, start.after))


def _start(cluster: Cluster, options: ListOptions) -> Continuation:
    """The state to list, and the key to start behind."""
    if options.continuation:
        if options.resource_version not in ("", "0"):
            told = "specifying resource version is not allowed when using continue"
            raise Refusal(400, "BadRequest", told)
        return decode_continuation(options.continuation)
    check_not_too_new(cluster, options.resource_version, code=400, prefix="invalid resource version: ")
    version = int(options.resource_version or "0")
    exact = options.match == "Exact" or (not options.match and options.limit)
    return Continuation(version if exact and version else LATEST, "")


def check_not_too_new(cluster: Cluster, version: str, *, code: int, prefix: str) -> None:
    """504 for a version the server has not reached, and a complaint for what is none."""
    if not version:
        return
    if not version.isdigit():
        why = f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
        raise Refusal(code, "BadRequest" if code == 400 else "", prefix + why)
    if int(version) > cluster.store.version:
        raise too_new(int(version), cluster.store.version)


def too_new(version: int, current: int) -> Refusal:
    return RefusalForNow(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {version}, current: {current}",
        Cause("ResourceVersionTooLarge", "Too large resource version", ""),
        _TOO_NEW_RETRY_SECONDS,
    )


def matcher_of(call: Call, options: ListOptions) -> Matcher | None:
    """The selectors of a request as one function."""
    return build_matcher(call.kind, parse_labels(options.label_selector), parse_fields(options.field_selector))

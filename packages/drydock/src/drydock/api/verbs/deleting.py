"""delete and deletecollection: ask for an end, which may take a while."""

from drydock.api.admission.rules import admit_delete
from drydock.api.answers.status import json_response, success
from drydock.api.cluster import Call, Cluster
from drydock.api.kinds.conventions import is_shown_when_deleted
from drydock.api.kinds.kind import Kind
from drydock.api.requests.bodies import decode_any
from drydock.api.requests.options import DeleteOptions, delete_options, list_options
from drydock.api.storage.store import Stored
from drydock.api.verbs.deletion import ORPHAN, plan_deletion
from drydock.api.verbs.reading import select_page
from drydock.api.verbs.writing import unsaved
from hawser.transport import Response

_ORPHANED_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them"
    " or set propagationPolicy=Orphan to suppress this warning"
)


def delete(cluster: Cluster, call: Call) -> Response:
    """Delete one object."""
    options = _options(call)
    existing = cluster.require(call.kind, call.namespace, call.name)
    left, gone = remove(cluster, call.kind, existing, options)
    _warn(call, left, options)
    if gone and not is_shown_when_deleted(call.kind):
        uid = existing.object["metadata"]["uid"]
        return json_response(200, success(kind=call.kind.plural, group=call.kind.group, name=call.name, uid=uid))
    status = 202 if not gone and options.orphan_dependents is False else 200
    return call.accepted.response(status, call.writer(cluster).one(left), {})


def delete_collection(cluster: Cluster, call: Call) -> Response:
    """Delete everything that a list with the same options would show."""
    options = _options(call)
    page = select_page(cluster, call, list_options(call.query, watch=False))
    for stored in page.items:
        remove(cluster, call.kind, stored, options)
    return call.accepted.response(200, call.writer(cluster).many(page.items, page.metadata), {})


def remove(cluster: Cluster, kind: Kind, existing: Stored, options: DeleteOptions) -> tuple[Stored, bool]:
    """Carry out a deletion: the state it leaves behind, and whether the object is gone."""
    admit_delete(kind, existing.object["metadata"]["name"])
    plan = plan_deletion(kind, existing.copy(), options, cluster.clock.now())
    table = cluster.table(kind)
    left = existing
    if plan.marked is not None and plan.marked != existing.object:
        if options.is_dry_run:
            left = unsaved(existing.key, plan.marked, existing.version)
        else:
            left = cluster.store.put(table, existing.key, plan.marked)
    if plan.remove and not options.is_dry_run:
        left = cluster.store.remove(table, existing.key)
    return left, plan.remove


def _options(call: Call) -> DeleteOptions:
    return delete_options(call.query, decode_any(call.request) if call.request.body else None)


def _warn(call: Call, left: Stored, options: DeleteOptions) -> None:
    is_job = (call.kind.group, call.kind.plural) == ("batch", "jobs")
    undecided = options.propagation_policy is None and options.orphan_dependents is None
    if is_job and undecided and ORPHAN in (left.object["metadata"].get("finalizers") or ()):
        call.warnings.append(_ORPHANED_PODS)

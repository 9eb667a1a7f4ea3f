"""watch: changes as they happen, after the present state or after a version the client has seen."""

from drydock.api.answers.status import Refusal
from drydock.api.cluster import Call, Cluster
from drydock.api.requests.options import ListOptions, list_options
from drydock.api.storage.watch import Subscription, Watch
from drydock.api.verbs.reading import check_not_too_new, matcher_of
from hawser.transport import Response

_SHORTEST_SECONDS = 1800.0  # what kube-apiserver's --min-request-timeout means for watches
_LONGEST_SECONDS = 3600.0


def watch(cluster: Cluster, call: Call) -> Response:
    """A stream of events."""
    options = list_options(call.query, watch=True)
    if options.resource_version:
        _check_version(options.resource_version)
    stream = _subscribe(cluster, call, options)
    return Response(200, {"content-type": "application/json"}, stream, stream.close)


def _subscribe(cluster: Cluster, call: Call, options: ListOptions) -> Watch:
    table = cluster.table(call.kind)
    wanted = Subscription(
        kind=call.kind,
        prefix=f"{call.namespace}/" if call.namespace else "",
        matches=matcher_of(call, options),
        writer=call.writer(cluster),
        bookmarks=options.bookmarks,
        seconds=options.timeout_seconds or cluster.entropy.between(_SHORTEST_SECONDS, _LONGEST_SECONDS),
    )
    version = int(options.resource_version or "0")
    from_now = version == 0 or options.send_initial_events is True
    stream = Watch(cluster.store, table, wanted, table.next_position)
    try:
        if options.send_initial_events:
            check_not_too_new(cluster, options.resource_version, code=500, prefix="")
        if not from_now:
            stream = Watch(cluster.store, table, wanted, table.position_after(version), seen=version)
    except Refusal as refusal:
        stream.refuse(refusal)
        return stream
    if from_now and options.send_initial_events is not False:
        current = table.range(wanted.prefix)
        chosen = [stored for stored in current if wanted.matches is None or wanted.matches(stored.object)]
        announce = options.send_initial_events is True and options.bookmarks
        stream.begin_with(chosen, announce_end=announce)
    return stream


def _check_version(version: str) -> None:
    if not version.isdigit():
        told = f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
        raise Refusal(500, "", told)

"""create: a new object, from its body."""

from drydock.api.cluster import Call, Cluster
from drydock.api.requests.bodies import read_object
from drydock.api.requests.options import write_options
from drydock.api.verbs.writing import Write
from drydock.api.verbs.writing import create as create_object
from hawser.transport import Response


def create(cluster: Cluster, call: Call) -> Response:
    """Store the object of the body."""
    options = write_options(call.query, call.user_agent, "CreateOptions")
    new = read_object(call.request, call.kind, options.field_validation, call.warnings)
    write = Write(call.user, options, warnings=call.warnings)
    stored = create_object(cluster, call.kind, call.namespace, new, write)
    return call.accepted.response(201, call.writer(cluster).one(stored), {})

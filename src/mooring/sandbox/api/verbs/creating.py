"""create: a new object, from its body."""

from mooring.kube.transport import Response
from mooring.sandbox.api.bodies import read_object
from mooring.sandbox.api.cluster import Call, Cluster
from mooring.sandbox.api.options import write_options
from mooring.sandbox.api.writing import Write
from mooring.sandbox.api.writing import create as create_object


def create(cluster: Cluster, call: Call) -> Response:
    """Store the object of the body."""
    options = write_options(call.query, call.user_agent, "CreateOptions")
    new = read_object(call.request, call.kind, options.field_validation, call.warnings)
    write = Write(call.user, options, warnings=call.warnings)
    stored = create_object(cluster, call.kind, call.namespace, new, write)
    return call.accepted.response(201, call.writer(cluster).one(stored), {})

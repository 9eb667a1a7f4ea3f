"""Fields one may select by, as selectors compare them: text, with the zero value where Go would have one."""

from typing import Any

from drydock.api.kinds.kind import Object


def read_field(source: Object, path: str) -> str:
    """A selectable field as selectors compare it: text, empty when absent."""
    value: Any = source
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def pod_field(pod: Object, path: str) -> str:
    if path == "spec.hostNetwork":
        return read_field(pod, path) or "false"
    return read_field(pod, path)


def node_field(node: Object, path: str) -> str:
    return read_field(node, path) or "false" if path == "spec.unschedulable" else read_field(node, path)


def job_field(job: Object, path: str) -> str:
    return read_field(job, "status.succeeded") or "0" if path == "status.successful" else read_field(job, path)


def replicas_field(owner: Object, path: str) -> str:
    return read_field(owner, path) or "0" if path == "status.replicas" else read_field(owner, path)


def event_field(event: Object, path: str) -> str:
    if path == "source":
        return read_field(event, "source.component") or read_field(event, "reportingComponent")
    return read_field(event, path)

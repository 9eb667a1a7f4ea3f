"""What the cells of built-in kinds show, one function a cell."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from drydock.api.kinds.kind import Object
from drydock.api.printing.ages import human_duration, parse_time, since

NONE = "<none>"
_FEW = 3  # of a list, the rest is counted

Compute = Callable[[Object, datetime], Any]


def at(source: Object, path: str, default: Any = "") -> Any:
    """The value at a dotted path; the default when it is absent, null or empty."""
    value: Any = source
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return default if value is None or value == "" else value


def field(path: str, default: Any = "") -> Compute:
    return lambda item, now: at(item, path, default)


def text(path: str, default: str) -> Compute:
    return lambda item, now: str(at(item, path, default))


def age_of(path: str, default: str = "<unknown>") -> Compute:
    return lambda item, now: since(at(item, path), now) if at(item, path) else default


def count(path: str) -> Compute:
    return lambda item, now: len(at(item, path, ()))


def data_count(config: Object, now: datetime) -> int:
    return len(at(config, "data", ())) + len(at(config, "binaryData", ()))


def suspended(cron_job: Object, now: datetime) -> str:
    return "True" if at(cron_job, "spec.suspend", False) else "False"


def ratio(part: str, whole: str) -> Compute:
    return lambda item, now: f"{at(item, part, 0)}/{at(item, whole, 0)}"


def containers(what: str, template: str = "spec.template") -> Compute:
    return lambda item, now: ",".join(each.get(what, "") for each in at(item, f"{template}.spec.containers", ()))


def format_labels(labels: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def format_selector(selector: Object) -> str:
    """A label selector as one would type it."""
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for term in selector.get("matchExpressions") or ():
        values = ",".join(sorted(term.get("values") or ()))
        match term.get("operator"):
            case "In":
                terms.append(f"{term['key']} in ({values})")
            case "NotIn":
                terms.append(f"{term['key']} notin ({values})")
            case "Exists":
                terms.append(term["key"])
            case _:
                terms.append(f"!{term['key']}")
    return ",".join(terms) or NONE


def labels(path: str) -> Compute:
    return lambda item, now: format_labels(at(item, path, {}))


def selector(path: str) -> Compute:
    return lambda item, now: format_selector(at(item, path, {}))


def holds(item: Object, condition: str) -> bool:
    return any(c.get("type") == condition and c.get("status") == "True" for c in at(item, "status.conditions", ()))


def few(shown: list[str]) -> str:
    if not shown:
        return "<unset>"
    return ",".join(shown[:_FEW]) + (f" + {len(shown) - _FEW} more..." if len(shown) > _FEW else "")


def node_status(node: Object, now: datetime) -> str:
    words = [
        "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in at(node, "status.conditions", ())
        if condition.get("type") == "Ready"
    ] or ["Unknown"]
    if at(node, "spec.unschedulable", False):
        words.append("SchedulingDisabled")
    return ",".join(words)


def node_roles(node: Object, now: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = at(node, "metadata.labels", {})
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)} | {
        labels.get("kubernetes.io/role", "")
    }
    return ",".join(sorted(roles - {""})) or NONE


def node_address(kind: str) -> Compute:
    def find(node: Object, now: datetime) -> str:
        found = (each["address"] for each in at(node, "status.addresses", ()) if each.get("type") == kind)
        return next(found, NONE)

    return find


def kernel(node: Object, now: datetime) -> str:
    version = at(node, "status.nodeInfo.kernelVersion", "<unknown>")
    architecture = at(node, "status.nodeInfo.architecture")
    return f"{version} ({architecture})" if architecture else version


def service_address(service: Object, now: datetime) -> str:
    addresses = at(service, "spec.clusterIPs", ()) or [at(service, "spec.clusterIP", NONE)]
    return str(addresses[0])


def service_external(service: Object, now: datetime) -> str:
    external = list(at(service, "spec.externalIPs", ()))
    match at(service, "spec.type", "ClusterIP"):
        case "ExternalName":
            return str(at(service, "spec.externalName"))
        case "LoadBalancer":
            ingress = at(service, "status.loadBalancer.ingress", ())
            balanced = sorted({each.get("ip") or each.get("hostname") or "" for each in ingress} - {""})
            return ",".join(balanced + external) or "<pending>"
        case _:
            return ",".join(external) or NONE


def service_ports(service: Object, now: datetime) -> str:
    ports = []
    for port in at(service, "spec.ports", ()):
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}")
    return ",".join(ports) or NONE


def endpoints(endpoints: Object, now: datetime) -> str:
    shown: list[str] = []
    for subset in at(endpoints, "subsets", ()):
        ips = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        shown += [f"{ip}:{port['port']}" for port in ports for ip in ips] if ports else ips
    return few(shown) if shown else NONE


def slice_ports(endpoint_slice: Object, now: datetime) -> str:
    return few([str(port.get("port") or port.get("name") or "*") for port in at(endpoint_slice, "ports", ())])


def slice_endpoints(endpoint_slice: Object, now: datetime) -> str:
    return few([address for each in at(endpoint_slice, "endpoints", ()) for address in each.get("addresses", ())])


def job_status(job: Object, now: datetime) -> str:
    for condition, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if holds(job, condition):
            return word
    if at(job, "metadata.deletionTimestamp"):
        return "Terminating"
    return next((c for c in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if holds(job, c)), "Running")


def job_completions(job: Object, now: datetime) -> str:
    succeeded = at(job, "status.succeeded", 0)
    completions = at(job, "spec.completions", None)
    if completions is not None:
        return f"{succeeded}/{completions}"
    parallelism = at(job, "spec.parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(job: Object, now: datetime) -> str:
    started, ended = parse_time(at(job, "status.startTime")), parse_time(at(job, "status.completionTime"))
    return human_duration(((ended or now) - started).total_seconds()) if started else ""


def event_last(event: Object, now: datetime) -> str:
    last = at(event, "series.lastObservedTime") or at(event, "lastTimestamp") or at(event, "deprecatedLastTimestamp")
    return since(last, now) if last else event_first(event, now)


def event_first(event: Object, now: datetime) -> str:
    first = at(event, "firstTimestamp") or at(event, "deprecatedFirstTimestamp") or at(event, "eventTime")
    return since(first, now)


def event_count(event: Object, now: datetime) -> int:
    count: int = at(event, "series.count", 0) or at(event, "count", 0) or at(event, "deprecatedCount", 0) or 1
    return count


def event_object(event: Object, now: datetime) -> str:
    target = at(event, "involvedObject", {}) or at(event, "regarding", {})
    return "/".join(filter(None, (at(target, "kind").lower(), at(target, "name"))))


def event_source(event: Object, now: datetime) -> str:
    component = at(event, "source.component") or at(event, "reportingComponent") or at(event, "reportingController")
    instance = at(event, "source.host") or at(event, "reportingInstance")
    return ", ".join(filter(None, (component, instance)))


def event_message(event: Object, now: datetime) -> str:
    return str(at(event, "message") or at(event, "note")).strip()


def event_subobject(event: Object, now: datetime) -> str:
    return str(at(event, "involvedObject.fieldPath") or at(event, "regarding.fieldPath"))


def phase(item: Object, now: datetime) -> str:
    return "Terminating" if at(item, "metadata.deletionTimestamp") else str(at(item, "status.phase"))


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def modes(path: str) -> Compute:
    return lambda item, now: ",".join(short for mode, short in _MODES.items() if mode in at(item, path, ()))


def bound(compute: Compute) -> Compute:
    return lambda claim, now: compute(claim, now) if at(claim, "spec.volumeName") else ""


def capacity(path: str) -> Compute:
    return lambda item, now: str(at(item, path, {}).get("storage", "0"))


def claim_of(volume: Object, now: datetime) -> str:
    claim = at(volume, "spec.claimRef", {})
    return f"{at(claim, 'namespace')}/{at(claim, 'name')}" if claim else ""


def quota(limits: bool) -> Compute:
    def show(quota: Object, now: datetime) -> str:
        hard, used = at(quota, "status.hard", {}), at(quota, "status.used", {})
        names = sorted(name for name in hard if name.startswith("limits.") == limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return show


def role(binding: Object, now: datetime) -> str:
    return f"{at(binding, 'roleRef.kind')}/{at(binding, 'roleRef.name')}"


def subjects(kind: str) -> Compute:
    def show(binding: Object, now: datetime) -> str:
        subjects = [each for each in at(binding, "subjects", ()) if each.get("kind") == kind]
        return ", ".join("/".join(filter(None, (each.get("namespace"), each["name"]))) for each in subjects)

    return show


def owner(item: Object, now: datetime) -> str:
    for owner in at(item, "metadata.ownerReferences", ()):
        if owner.get("controller"):
            group = at(owner, "apiVersion").rpartition("/")[0]
            return f"{owner['kind'].lower()}{'.' if group else ''}{group}/{owner['name']}"
    return NONE


def class_name(storage_class: Object, now: datetime) -> str:
    default = at(storage_class, "metadata.annotations", {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    return f"{storage_class['metadata']['name']}{' (default)' if default else ''}"


def api_service(service: Object, now: datetime) -> str:
    served_by = at(service, "spec.service", {})
    return f"{served_by['namespace']}/{served_by['name']}" if served_by else "Local"


def available(service: Object, now: datetime) -> str:
    found = [each for each in at(service, "status.conditions", ()) if each.get("type") == "Available"]
    if not found:
        return "Unknown"
    return "True" if found[0].get("status") == "True" else f"{found[0].get('status')} ({found[0].get('reason', '')})"

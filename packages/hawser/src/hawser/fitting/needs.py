"""What a pod asks of a node, read once from its spec: resources, ports, tolerations, affinities."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hawser.fitting.selectors import Matcher, Object, compile_selector, match_nothing
from hawser.quantity import count_of

Requests = Mapping[str, int]  # cpu in thousandths, everything else in its own unit
HostPort = tuple[str, str, int]  # host address, protocol, port

# What an unset request counts as when nodes are compared, so that pods without requests spread too.
ASSUMED_CPU = 100
ASSUMED_MEMORY = 200 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A pod (anti-)affinity term: pods it speaks of, and the node label that says what "near" means."""

    topology_key: str
    selector: Matcher
    namespaces: frozenset[str]
    namespace_selector: Matcher
    weight: int = 0

    @property
    def selects_namespaces(self) -> bool:
        return self.namespace_selector is not match_nothing

    def covers(self, namespace: str, namespace_labels: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        """Whether a pod in that namespace with those labels is meant."""
        if namespace not in self.namespaces and not self.namespace_selector(namespace_labels):
            return False
        return self.selector(labels)


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint."""

    topology_key: str
    max_skew: int
    selector: Matcher
    required: bool
    min_domains: int
    honours_affinity: bool
    honours_taints: bool


@dataclass(frozen=True, slots=True)
class PodNeeds:
    """A pod as the scheduler sees it."""

    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    priority: int
    never_preempts: bool
    requests: Requests
    ports: tuple[HostPort, ...]
    tolerations: tuple[Object, ...]
    node_selector: Mapping[str, str]
    required_terms: tuple[Object, ...] | None  # None: no required node affinity
    preferred_terms: tuple[Object, ...]
    affinity: tuple[AffinityTerm, ...]
    anti_affinity: tuple[AffinityTerm, ...]
    preferred_affinity: tuple[AffinityTerm, ...]
    preferred_anti_affinity: tuple[AffinityTerm, ...]
    spreads: tuple[Spread, ...]
    claims: tuple[str, ...]
    terminating: bool = False
    node_name: str = ""  # set from the start: the scheduler is not asked

    @property
    def has_topology_constraints(self) -> bool:
        """Whether other pods decide where this one may go."""
        return bool(self.affinity or self.anti_affinity or self.spreads)


def read_needs(pod: Object) -> PodNeeds:
    """The needs of a pod as the API holds it."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    namespace, labels = metadata.get("namespace", ""), metadata.get("labels") or {}
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    near = affinity.get("podAffinity") or {}
    far = affinity.get("podAntiAffinity") or {}
    return PodNeeds(
        uid=metadata.get("uid", ""),
        namespace=namespace,
        name=metadata.get("name", ""),
        labels=labels,
        priority=spec.get("priority") or 0,
        never_preempts=spec.get("preemptionPolicy") == "Never",
        requests=pod_requests(spec),
        ports=tuple(_host_ports(spec)),
        tolerations=tuple(spec.get("tolerations") or ()),
        node_selector=spec.get("nodeSelector") or {},
        required_terms=None if required is None else tuple(required.get("nodeSelectorTerms") or ()),
        preferred_terms=tuple(node_affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()),
        affinity=tuple(_required_terms(near, namespace, labels)),
        anti_affinity=tuple(_required_terms(far, namespace, labels)),
        preferred_affinity=tuple(_preferred_terms(near, namespace, labels)),
        preferred_anti_affinity=tuple(_preferred_terms(far, namespace, labels)),
        spreads=tuple(_spreads(spec, labels)),
        claims=tuple(_claims(spec)),
        terminating=bool(metadata.get("deletionTimestamp")),
        node_name=spec.get("nodeName") or "",
    )


def pod_requests(spec: Object) -> Requests:
    """The pod's effective requests.

    Init containers run one after another, each beside the sidecars started before it; containers run beside all
    sidecars. The pod needs the largest of these stages, plus its overhead.
    """
    running = _sum(_container_requests(container) for container in spec.get("containers") or ())
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        wanted = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum((sidecars, wanted))
            stage = sidecars
        else:
            stage = _sum((sidecars, wanted))
        peak = _largest(peak, stage)
    total = _largest(_sum((running, sidecars)), peak)
    for name, text in ((spec.get("resources") or {}).get("requests") or {}).items():
        total[name] = count_of(name, text)
    overhead = {name: count_of(name, text) for name, text in (spec.get("overhead") or {}).items()}
    return _sum((total, overhead))


def required_node_names(needs: PodNeeds) -> frozenset[str] | None:
    """The nodes named by `matchFields` in every required term; None when any node may be named."""
    if not needs.required_terms:
        return None
    names: set[str] = set()
    for term in needs.required_terms:
        wanted: set[str] | None = None
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In":
                values = set(field.get("values") or ())
                wanted = values if wanted is None else wanted & values
        if wanted is None:
            return None
        names |= wanted
    return frozenset(names)


def _container_requests(container: Object) -> Requests:
    requests = (container.get("resources") or {}).get("requests") or {}
    return {name: count_of(name, text) for name, text in requests.items()}


def _sum(parts: Iterable[Requests]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _largest(one: Requests, other: Requests) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _host_ports(spec: Object) -> Iterable[HostPort]:
    for container in (*(spec.get("containers") or ()), *_sidecars(spec)):
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                yield port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"]


def _sidecars(spec: Object) -> Sequence[Object]:
    return [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]


def _claims(spec: Object) -> Iterable[str]:
    for volume in spec.get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield claim["claimName"]


def _required_terms(affinity: Object, namespace: str, labels: Mapping[str, str]) -> Iterable[AffinityTerm]:
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        yield _affinity_term(term, namespace, labels, 0)


def _preferred_terms(affinity: Object, namespace: str, labels: Mapping[str, str]) -> Iterable[AffinityTerm]:
    for weighted in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
        yield _affinity_term(weighted["podAffinityTerm"], namespace, labels, weighted["weight"])


def _affinity_term(term: Object, namespace: str, labels: Mapping[str, str], weight: int) -> AffinityTerm:
    namespaces = frozenset(term.get("namespaces") or ())
    selector = term.get("namespaceSelector")
    if not namespaces and selector is None:
        namespaces = frozenset((namespace,))
    return AffinityTerm(
        topology_key=term["topologyKey"],
        selector=compile_selector(_with_label_keys(term, labels)),
        namespaces=namespaces,
        namespace_selector=match_nothing if selector is None else compile_selector(selector),
        weight=weight,
    )


def _spreads(spec: Object, labels: Mapping[str, str]) -> Iterable[Spread]:
    for constraint in spec.get("topologySpreadConstraints") or ():
        yield Spread(
            topology_key=constraint["topologyKey"],
            max_skew=constraint["maxSkew"],
            selector=compile_selector(_with_label_keys(constraint, labels)),
            required=constraint["whenUnsatisfiable"] == "DoNotSchedule",
            min_domains=constraint.get("minDomains") or 1,
            honours_affinity=constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
            honours_taints=constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )


def _with_label_keys(term: Object, labels: Mapping[str, str]) -> Object | None:
    """The term's selector, narrowed by the pod's own values of `matchLabelKeys`."""
    selector: Object | None = term.get("labelSelector")
    same = [(key, "In") for key in term.get("matchLabelKeys") or ()]
    other = [(key, "NotIn") for key in term.get("mismatchLabelKeys") or ()]
    extra = [
        {"key": key, "operator": operator, "values": [labels[key]]} for key, operator in same + other if key in labels
    ]
    if selector is None or not extra:
        return selector
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *extra]}

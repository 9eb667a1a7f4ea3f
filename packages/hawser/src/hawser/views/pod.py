"""Pods, as far as a fleet needs to know them."""

from hawser.views.base import Condition, Meta, Object, Requirement, Time, View, is_true


class EnvVar(View, frozen=True):
    """A variable with a literal value; one that comes from elsewhere has an empty value."""

    name: str = ""
    value: str = ""


class ContainerPort(View, frozen=True):
    """A port that a container serves."""

    name: str = ""
    container_port: int = 0
    protocol: str = "TCP"


class Resources(View, frozen=True):
    """Quantities by resource name, as text: `hawser/quantity.py` reads them."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class Container(View, frozen=True):
    """A container of a pod. `restart_policy` is "Always" on a sidecar among the init containers."""

    name: str = ""
    image: str = ""
    resources: Resources = Resources()
    ports: tuple[ContainerPort, ...] = ()
    env: tuple[EnvVar, ...] = ()
    restart_policy: str = ""


class Toleration(View, frozen=True):
    """A taint that a pod can stand."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NodeSelectorTerm(View, frozen=True):
    """One alternative: all of its requirements must hold."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(View, frozen=True):
    """Alternatives of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(View, frozen=True):
    """Where a pod must go."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class Affinity(View, frozen=True):
    """The part of affinity that can pin a pod to a node."""

    node_affinity: NodeAffinity | None = None


class SchedulingGate(View, frozen=True):
    """Something that holds a pod back from the scheduler."""

    name: str = ""


class PodSpec(View, frozen=True):
    """What a pod asks for."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    service_account_name: str = ""
    priority: int = 0
    priority_class_name: str = ""
    scheduler_name: str = ""
    restart_policy: str = ""
    host_network: bool = False
    scheduling_gates: tuple[SchedulingGate, ...] = ()

    @property
    def required_terms(self) -> tuple[NodeSelectorTerm, ...]:
        """The node selector terms of which one must hold; none means any node."""
        node = self.affinity.node_affinity if self.affinity else None
        required = node.required_during_scheduling_ignored_during_execution if node else None
        return required.node_selector_terms if required else ()


class Waiting(View, frozen=True):
    """Not started."""

    reason: str = ""
    message: str = ""


class Running(View, frozen=True):
    """Started."""

    started_at: Time | None = None


class Terminated(View, frozen=True):
    """Ended."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None


class ContainerState(View, frozen=True):
    """At most one of the three is set."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(View, frozen=True):
    """How a container fares."""

    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(View, frozen=True):
    """How a pod fares. `phase` is Pending, Running, Succeeded, Failed or Unknown."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = ""
    host_ip: str = ""
    start_time: Time | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""
    nominated_node_name: str = ""


class Pod(Object, frozen=True):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def ready(self) -> bool:
        return is_true(self.status.conditions, "Ready")

    @property
    def finished(self) -> bool:
        """Ended for good, well or badly."""
        return self.status.phase in ("Succeeded", "Failed")


class PodTemplate(View, frozen=True):
    """The pod that a Job or a Deployment makes."""

    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()

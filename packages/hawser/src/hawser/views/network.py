"""Services and the endpoints behind them."""

from hawser.views.base import Object, View


class ServicePort(View, frozen=True):
    """One port of a Service."""

    name: str = ""
    port: int = 0
    target_port: int | str = 0
    node_port: int = 0
    protocol: str = "TCP"


class ServiceSpec(View, frozen=True):
    """Where a Service leads."""

    type: str = "ClusterIP"
    cluster_ip: str = ""
    selector: dict[str, str] = {}
    ports: tuple[ServicePort, ...] = ()


class Ingress(View, frozen=True):
    """An address from outside the cluster."""

    ip: str = ""
    hostname: str = ""


class LoadBalancer(View, frozen=True):
    """What a load balancer has given a Service."""

    ingress: tuple[Ingress, ...] = ()


class ServiceStatus(View, frozen=True):
    """What a Service has been given."""

    load_balancer: LoadBalancer = LoadBalancer()


class Service(Object, frozen=True):
    """A Service."""

    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class EndpointConditions(View, frozen=True):
    """Whether an endpoint takes traffic; None means unknown, to be read as ready."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class TargetReference(View, frozen=True):
    """The object behind an endpoint, or that an event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    field_path: str = ""


class Endpoint(View, frozen=True):
    """One backend."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    node_name: str = ""
    target_ref: TargetReference | None = None


class EndpointPort(View, frozen=True):
    """A port of every backend in the slice."""

    name: str = ""
    port: int | None = None
    protocol: str = "TCP"


class EndpointSlice(Object, frozen=True):
    """Some of the backends of a Service."""

    address_type: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    ports: tuple[EndpointPort, ...] = ()

    @property
    def service(self) -> str:
        """The name of the Service this slice belongs to."""
        return self.metadata.labels.get("kubernetes.io/service-name", "")

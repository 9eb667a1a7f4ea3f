"""What the queries need of the parts that they read. The application passes the parts in; nothing here names them."""

from collections.abc import Mapping, Sequence, Sized
from datetime import datetime
from typing import Any, Protocol, TypeVar

from hawser import views
from hawser.resources import Resource
from hawser.reviews import AccessReviewResult
from hawser.version import ServerVersion
from mooring.kinds.views import Submission
from mooring.ledger.port import Ledger
from mooring.ledger.records import InvariantState
from mooring.model.health import WorkerHealth
from mooring.model.node import Node, NodeTemplate, Quarantine
from mooring.model.pool import Pool
from mooring.model.service import Service
from mooring.model.service_observations import Answer, ServicePod
from mooring.model.warmup import Warmup
from mooring.model.worker import Worker

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class PoolSource(Protocol):
    """Pools and their workers."""

    @property
    def pools(self) -> Mapping[str, Pool]: ...
    @property
    def worker_pools(self) -> Mapping[str, Mapping[str, Worker]]: ...
    @property
    def strangers(self) -> Sequence[Worker]: ...
    @property
    def accounts(self) -> Sequence[views.ServiceAccount]: ...
    def pool(self, key: str) -> Pool | None: ...
    def workers(self, pool_key: str) -> Sequence[Worker]: ...


class NodeSource(Protocol):
    """Nodes, and the nodes that an autoscaler would create."""

    @property
    def by_name(self) -> Mapping[str, Node]: ...
    @property
    def templates(self) -> Sequence[NodeTemplate]: ...
    def gone_since(self, name: str) -> datetime | None: ...


class HealthSource(Protocol):
    """The health checks of workers."""

    def of(self, pool_key: str, uid: str) -> WorkerHealth | None: ...
    def failed_in(self, pool_key: str) -> Mapping[str, WorkerHealth]: ...


class QuarantineSource(Protocol):
    """The nodes that are closed for new workers, by uid."""

    def closed(self) -> Mapping[str, Quarantine]: ...


class SlotSource(Protocol):
    """How many slots of each worker are taken, by uid."""

    def held(self, pool_key: str) -> Mapping[str, int]: ...


class PollSource(Protocol):
    """When workers polled."""

    def is_silent(self, worker: Worker) -> bool: ...
    def silent_seconds(self, uid: str) -> float | None: ...


class ServiceSource(Protocol):
    """Services and their pods."""

    @property
    def services(self) -> Mapping[str, Service]: ...
    @property
    def trouble(self) -> str: ...
    def service(self, key: str) -> Service | None: ...
    def pods(self, key: str) -> Sequence[ServicePod]: ...


class AnswerSource(Protocol):
    """The answers of the pods of a service."""

    async def answer(self, service: Service, pod: ServicePod, path: str = "") -> Answer: ...


class SubmissionSource(Protocol):
    """Submissions."""

    @property
    def submissions(self) -> Sequence[Submission]: ...
    def submission(self, key: str) -> Submission | None: ...


class WarmupSource(Protocol):
    """Warmups; `find` raises `NotFound`."""

    @property
    def warmups(self) -> Mapping[str, Warmup]: ...
    def find(self, namespace: str, name: str) -> Warmup: ...


class GateSource(Protocol):
    """Whether the caches that every controller needs were read."""

    @property
    def synced(self) -> bool: ...


class SwitchSource(Protocol):
    """The kill switches as last read; `known` is False before the first read."""

    @property
    def known(self) -> bool: ...
    @property
    def states(self) -> Mapping[str, InvariantState]: ...


class LeaderSource(Protocol):
    """Which replica leads, and why this one must not."""

    @property
    def leader_id(self) -> str: ...
    @property
    def leading(self) -> bool: ...
    @property
    def obstacle(self) -> str: ...
    @property
    def ledger_failure(self) -> str:
        """Why the ledger cannot be used; empty if it answers."""
        ...


class ClusterReachSource(Protocol):
    """Whether the API server answers."""

    @property
    def api_failure(self) -> str:
        """Why it counts as unreachable; empty if it answers."""
        ...


class CacheHealth(Protocol):
    """How a watch fares."""

    @property
    def synced(self) -> bool: ...
    @property
    def fresh(self) -> bool: ...
    @property
    def last_event_age_seconds(self) -> float | None: ...
    @property
    def last_error(self) -> str: ...


class CacheSource(Protocol):
    """A cache and the watch that fills it."""

    @property
    def cache(self) -> Sized: ...
    @property
    def health(self) -> CacheHealth: ...


class Items(Protocol[T_co]):
    """The objects of a list."""

    @property
    def items(self) -> Sequence[T_co]: ...


class ClusterSource(Protocol):
    """The cluster, asked live. `create` asks only: reviews are questions that are sent as objects."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that may be listed; none means all."""
        ...

    async def get(self, resource: Resource[T], name: str, namespace: str | None = None) -> T: ...
    async def list(
        self, resource: Resource[T], namespace: str | None = None, *, label_selector: str = "", field_selector: str = ""
    ) -> Items[T]: ...
    async def list_page(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> Items[T]: ...
    async def create(self, resource: Resource[T], body: dict[str, Any]) -> T: ...
    async def can_i(
        self, verb: str, resource: Resource[Any], *, namespace: str | None = None, subresource: str = ""
    ) -> AccessReviewResult: ...
    async def version(self) -> ServerVersion: ...
    async def logs(
        self,
        name: str,
        namespace: str,
        *,
        container: str = "",
        tail_lines: int | None = None,
        previous: bool = False,
        limit_bytes: int | None = None,
    ) -> str: ...


class OwnApiSource(Protocol):
    """Mooring's own API, as workers reach it."""

    @property
    def url(self) -> str: ...
    async def failure(self) -> str: ...


class ReachSource(Protocol):
    """Whether this replica reaches its own API."""

    @property
    def api(self) -> OwnApiSource: ...


class LivenessSource(Protocol):
    """The signs of life of workers and holders."""

    @property
    def reach(self) -> ReachSource: ...


class PlatformSource(Protocol):
    """The cluster, the ledger, the nodes, and the signs of life."""

    @property
    def client(self) -> ClusterSource: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def nodes(self) -> NodeSource: ...
    @property
    def liveness(self) -> LivenessSource: ...

"""The furniture of a cluster: namespaces, configuration, accounts, quotas, volumes, priorities."""

from hawser.views.base import Condition, Object, View
from hawser.views.pod import NodeSelector


class PartialObject(Object, frozen=True):
    """An object of which only the metadata matters."""


class Phase(View, frozen=True):
    """A status that is a phase."""

    phase: str = ""


class Namespace(Object, frozen=True):
    """A namespace. `status.phase` is Active or Terminating."""

    status: Phase = Phase()


class ConfigMap(Object, frozen=True):
    """A ConfigMap, its binary data left out."""

    data: dict[str, str] = {}


class Secret(Object, frozen=True):
    """A Secret without what is secret in it."""

    type: str = ""


class ServiceAccount(Object, frozen=True):
    """A ServiceAccount."""


class PriorityClass(Object, frozen=True):
    """A PriorityClass."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class ResourceQuotaSpec(View, frozen=True):
    """What may be used."""

    hard: dict[str, str] = {}


class ResourceQuotaStatus(View, frozen=True):
    """What is used."""

    hard: dict[str, str] = {}
    used: dict[str, str] = {}


class ResourceQuota(Object, frozen=True):
    """A ResourceQuota."""

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class VolumeNodeAffinity(View, frozen=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class ClaimReference(View, frozen=True):
    """The claim that a volume is bound to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class PersistentVolumeSpec(View, frozen=True):
    """What a volume offers."""

    capacity: dict[str, str] = {}
    storage_class_name: str = ""
    persistent_volume_reclaim_policy: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    claim_ref: ClaimReference | None = None


class PersistentVolume(Object, frozen=True):
    """A PersistentVolume."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: Phase = Phase()


class PersistentVolumeClaimSpec(View, frozen=True):
    """What a claim asks for."""

    volume_name: str = ""
    storage_class_name: str = ""
    access_modes: tuple[str, ...] = ()


class PersistentVolumeClaim(Object, frozen=True):
    """A PersistentVolumeClaim. `status.phase` is Pending, Bound or Lost."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: Phase = Phase()


class StorageClass(Object, frozen=True):
    """A StorageClass. Its claims are bound at once, or with their first pod."""

    volume_binding_mode: str = "Immediate"


class DefinitionNames(View, frozen=True):
    """How a custom kind is called."""

    plural: str = ""
    kind: str = ""


class DefinitionSpec(View, frozen=True):
    """What a custom kind is."""

    group: str = ""
    names: DefinitionNames = DefinitionNames()
    scope: str = ""


class DefinitionStatus(View, frozen=True):
    """Whether a custom kind is served: the condition Established."""

    conditions: tuple[Condition, ...] = ()


class CustomResourceDefinition(Object, frozen=True):
    """A CustomResourceDefinition, without its schema."""

    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()

"""The result of a preflight: how many nodes fit, why the others do not, and which change helps."""

import msgspec


class NodeVerdict(msgspec.Struct, frozen=True, rename="camel"):
    """One node, with every reason that keeps the pod off it in the words of kube-scheduler; none if it fits."""

    node: str
    reasons: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.reasons


class Group(msgspec.Struct, frozen=True, rename="camel"):
    """Nodes that refuse a pod for the same reason."""

    kind: str  # cordon, node_name, taint, selector, ports, resource, volume, spread, affinity
    reason: str
    nodes: int
    examples: tuple[str, ...] = ()


class HeldClaim(msgspec.Struct, frozen=True, rename="camel"):
    """A volume claim without a volume: it keeps a pod off every node."""

    name: str
    code: str  # claim_missing, claim_leaving, claim_lost, claim_unbound
    reason: str  # as kube-scheduler words it
    message: str
    fix: str


class Preflight(msgspec.Struct, frozen=True, rename="camel"):
    """The verdict of all nodes on one pod."""

    fits: int
    total: int
    sentence: str  # as kube-scheduler words it
    fix: str = ""  # the smallest change that opens a node; empty if the pod fits
    groups: tuple[Group, ...] = ()
    verdicts: tuple[NodeVerdict, ...] = ()
    makers: tuple[str, ...] = ()  # node pools of an autoscaler that would create a node for it
    claims: tuple[HeldClaim, ...] = ()
    unknown: tuple[str, ...] = ()  # what was not judged, so the scheduler may still refuse

    @property
    def hopeless(self) -> bool:
        """No node takes the pod, and none that would is going to be created."""
        return not self.fits and not self.makers

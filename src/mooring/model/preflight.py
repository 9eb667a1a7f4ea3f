"""The answer to "would this pod find a node?": how many fit, why the others do not, and what would change it."""

import msgspec


class NodeVerdict(msgspec.Struct, frozen=True, rename="camel"):
    """One node: every reason that keeps the pod off it, in the scheduler's words; none means that it fits."""

    node: str
    reasons: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.reasons


class Group(msgspec.Struct, frozen=True, rename="camel"):
    """Nodes that a pod is kept off for the same reason."""

    kind: str  # cordon, node_name, taint, selector, ports, resource, volume, spread, affinity
    reason: str
    nodes: int
    examples: tuple[str, ...] = ()


class HeldClaim(msgspec.Struct, frozen=True, rename="camel"):
    """A volume claim that keeps a pod off every node: there is no volume behind it."""

    name: str
    code: str  # claim_missing, claim_leaving, claim_lost, claim_unbound
    reason: str  # in the scheduler's words
    message: str
    fix: str


class Preflight(msgspec.Struct, frozen=True, rename="camel"):
    """The verdict of a whole cluster on one pod."""

    fits: int
    total: int
    sentence: str  # as the scheduler would put it
    fix: str = ""  # the smallest change that opens a node; empty when the pod fits
    groups: tuple[Group, ...] = ()
    verdicts: tuple[NodeVerdict, ...] = ()
    makers: tuple[str, ...] = ()  # node pools of an autoscaler that would make a node for it
    claims: tuple[HeldClaim, ...] = ()
    unknown: tuple[str, ...] = ()  # what was not judged, so that the scheduler may still say no

    @property
    def hopeless(self) -> bool:
        """No node takes it, and none that would is going to be made."""
        return not self.fits and not self.makers

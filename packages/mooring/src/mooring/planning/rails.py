"""The rails: conditions that every destructive act must pass, independent of the planner that asked for it.

They are two proofs of different sources, an age floor, two ticks, a cap per tick, and brakes that stop all acts at
once. The other rails are effects and live in engine/guarded_delete.py: the cap of the whole fleet, the audit row before
the act, and the uid and resourceVersion preconditions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from mooring.model.proof import Proofs, are_independent
from mooring.planning.actions import earliest

CAP_PER_TICK = 25
CONFIRM_SECONDS = 2.0


class Destructive(Protocol):
    """What an act must provide to be judged."""

    @property
    def key(self) -> str:
        """The invariant and the object's uid; equal on both ticks."""
        ...

    @property
    def proofs(self) -> Proofs: ...

    @property
    def age_seconds(self) -> float: ...

    @property
    def floor_seconds(self) -> float: ...


D = TypeVar("D", bound=Destructive)


@dataclass(frozen=True, slots=True)
class Held(Generic[D]):
    """An act that did not pass, and why."""

    act: D
    because: str


@dataclass(frozen=True, slots=True)
class Verdict(Generic[D]):
    """The acts that may happen now, those that are held, and what to remember until the next tick."""

    allowed: tuple[D, ...]
    held: tuple[Held[D], ...]
    sightings: Mapping[str, datetime]
    wake_at: datetime | None


@dataclass(frozen=True, slots=True)
class World:
    """What the brakes look at."""

    caches_fresh: bool
    nodes_total: int
    nodes_ready: int
    incarnation_expected: str
    incarnation_seen: str  # empty if the ledger could not be read
    armed: bool = True  # whether a missing row proves anything
    paused: str = ""  # why the invariant is paused; empty if it is not


def compute_brakes(world: World) -> tuple[str, ...]:
    """Reasons to do nothing destructive at all. An empty or failed read never proves absence."""
    brakes = []
    if world.paused:
        brakes.append(f"paused: {world.paused}")
    if not world.caches_fresh:
        brakes.append("the view of the cluster is not fresh")
    if world.nodes_total == 0:
        brakes.append("the list of nodes is empty")
    elif world.nodes_ready == 0:
        brakes.append(f"none of {world.nodes_total} nodes is Ready")
    if not world.incarnation_seen:
        brakes.append("the ledger cannot be read")
    elif not world.armed:
        brakes.append("the ledger is not armed since it was restored: its claims may be incomplete")
    elif world.incarnation_seen != world.incarnation_expected:
        brakes.append("the ledger is another one than before (restored or replaced)")
    return tuple(brakes)


def apply_rails(
    acts: Sequence[D],
    sightings: Mapping[str, datetime],
    now: datetime,
    brakes: Iterable[str] = (),
    cap: int = CAP_PER_TICK,
    confirm_seconds: float = CONFIRM_SECONDS,
) -> Verdict[D]:
    """Sort acts into those that may happen now and those that are held, each with its reason."""
    stop = "; ".join(brakes)
    seen: dict[str, datetime] = {}
    allowed: list[D] = []
    held: list[Held[D]] = []
    wake_at: datetime | None = None
    for act in acts:
        # A clock that was set back, or runs behind the cluster's clock, must not delay acts until it has caught up.
        first, age = min(sightings.get(act.key, now), now), max(act.age_seconds, 0.0)
        seen[act.key] = first
        ripe_at = first + timedelta(seconds=confirm_seconds)
        if stop:
            held.append(Held(act, stop))
        elif not are_independent(act.proofs):
            held.append(Held(act, "two proofs of different sources are needed"))
        elif age < act.floor_seconds:
            held.append(Held(act, f"{age:.0f} s old, must be {act.floor_seconds:.0f} s"))
        elif act.key not in sightings or now < ripe_at:
            held.append(Held(act, "seen on one tick only"))
            wake_at = earliest(wake_at, ripe_at)
        elif len(allowed) >= cap:
            held.append(Held(act, f"more than {cap} in one tick"))
            wake_at = earliest(wake_at, now + timedelta(seconds=confirm_seconds))
        else:
            allowed.append(act)
    return Verdict(tuple(allowed), tuple(held), seen, wake_at)

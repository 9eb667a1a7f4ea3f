"""How a Deployment moves from one ReplicaSet to the next: pure arithmetic over replica counts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from drydock.actors.machinery.objects import (
    Object,
    annotations_of,
    created_at,
    is_terminating,
    name_of,
    spec_of,
    status_of,
    uid_of,
)

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
    )
)
_HASH_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_UNLIMITED = 2**31 - 1
_LONGEST_HISTORY = 2000


@dataclass(frozen=True, slots=True)
class Scale:
    """Set a ReplicaSet to a size."""

    replica_set: Object
    replicas: int


def replicas_of(item: Object) -> int:
    value = spec_of(item).get("replicas")
    return 1 if value is None else int(value)


def available_of(replica_set: Object) -> int:
    return int(status_of(replica_set).get("availableReplicas", 0))


def is_rolling(deployment: Object) -> bool:
    return bool((spec_of(deployment).get("strategy") or {}).get("type", "RollingUpdate") == "RollingUpdate")


def fence_posts(deployment: Object) -> tuple[int, int]:
    """How many pods may be there too many and too few during a rollout: surge rounds up, unavailable rounds down."""
    if not is_rolling(deployment):
        return 0, 0
    rolling = (spec_of(deployment).get("strategy") or {}).get("rollingUpdate") or {}
    desired = replicas_of(deployment)
    surge = scaled(rolling.get("maxSurge", 0), desired, round_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", 0), desired, round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1  # or the rollout could never move
    return surge, min(unavailable, desired)


def scaled(value: int | str, total: int, *, round_up: bool) -> int:
    """A number, or a percentage of the total."""
    if isinstance(value, int):
        return value
    share = int(value.removesuffix("%")) * total / 100
    return ceil(share) if round_up else floor(share)


def template_hash(template: Object, collisions: int) -> str:
    """A short name for a pod template."""
    value = 2166136261
    for byte in json.dumps([canonical(template), collisions], sort_keys=True).encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return "".join(_HASH_LETTERS[ord(digit) % len(_HASH_LETTERS)] for digit in str(value))


def canonical(template: Object) -> Any:
    """A pod template without its hash label and without anything empty, for comparing."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    return _without_empty({**template, "metadata": {**metadata, "labels": labels}})


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_empty(part) for key, part in value.items()}
        return {key: part for key, part in kept.items() if part not in (None, {}, [])}
    if isinstance(value, list):
        return [_without_empty(part) for part in value]
    return value


def split_sets(deployment: Object, sets: Sequence[Object]) -> tuple[Object | None, list[Object]]:
    """The ReplicaSet of the current template, the oldest if several, and the others from old to new."""
    ordered = sorted(sets, key=lambda one: (created_at(one), name_of(one)))
    wanted = canonical(spec_of(deployment)["template"])
    new = next((one for one in ordered if canonical(spec_of(one)["template"]) == wanted), None)
    return new, [one for one in ordered if new is None or uid_of(one) != uid_of(new)]


def revision_of(item: Object) -> int:
    text = annotations_of(item).get(REVISION, "")
    return int(text) if text.isdigit() else 0


def set_annotations(deployment: Object, current: Mapping[str, str], revision: int) -> dict[str, str]:
    """The annotations the new ReplicaSet should carry: the Deployment's own, and its revision with its history."""
    copied = {key: value for key, value in annotations_of(deployment).items() if key not in _NOT_COPIED}
    wanted = {**current, **copied}
    earlier = current.get(REVISION, "")
    if int(earlier or 0) >= revision:
        return wanted
    wanted[REVISION] = str(revision)
    if earlier:
        history = f"{current[REVISION_HISTORY]},{earlier}" if current.get(REVISION_HISTORY) else earlier
        while len(history) > _LONGEST_HISTORY and "," in history:
            history = history.partition(",")[2]
        wanted[REVISION_HISTORY] = history
    return wanted


def size_annotations(deployment: Object) -> dict[str, str]:
    desired = replicas_of(deployment)
    return {DESIRED_REPLICAS: str(desired), MAX_REPLICAS: str(desired + fence_posts(deployment)[0])}


def first_size(deployment: Object, new_size: int, total: int) -> int:
    """How large the new ReplicaSet may be now, when all together have `total` replicas."""
    desired = replicas_of(deployment)
    if not is_rolling(deployment):
        return desired
    room = desired + fence_posts(deployment)[0] - total
    return new_size if room <= 0 else new_size + min(room, desired - new_size)


def is_scaling(deployment: Object, sets: Sequence[Object]) -> bool:
    """Whether the Deployment's size was changed: an active ReplicaSet remembers another one."""
    desired = str(replicas_of(deployment))
    remembered = (annotations_of(one).get(DESIRED_REPLICAS) for one in sets if replicas_of(one) > 0)
    return any(text is not None and text != desired for text in remembered)


def plan_rolling(deployment: Object, new: Object, olds: Sequence[Object]) -> list[Scale]:
    """The next step of a rolling update: grow the new ReplicaSet, or else shrink the old ones."""
    desired, size = replicas_of(deployment), replicas_of(new)
    total = size + sum(replicas_of(one) for one in olds)
    target = desired if size > desired else first_size(deployment, size, total)
    if target != size:
        return [Scale(new, target)]
    return _shrink(deployment, new, [one for one in olds if replicas_of(one) > 0])


def _shrink(deployment: Object, new: Object, olds: Sequence[Object]) -> list[Scale]:
    sizes = {uid_of(one): replicas_of(one) for one in olds}
    total = replicas_of(new) + sum(sizes.values())
    min_available = replicas_of(deployment) - fence_posts(deployment)[1]
    budget = total - min_available - (replicas_of(new) - available_of(new))
    if not olds or budget <= 0:
        return []
    # Pods that do not work anyway go first: they must not hold up the rollout.
    for one in olds:
        unhealthy = min(budget, max(0, sizes[uid_of(one)] - available_of(one)))
        sizes[uid_of(one)] -= unhealthy
        budget -= unhealthy
    spare = available_of(new) + sum(available_of(one) for one in olds) - min_available
    for one in olds:
        step = max(0, min(sizes[uid_of(one)], spare))
        sizes[uid_of(one)] -= step
        spare -= step
    return [Scale(one, sizes[uid_of(one)]) for one in olds if sizes[uid_of(one)] != replicas_of(one)]


def plan_scaling(deployment: Object, new: Object | None, olds: Sequence[Object]) -> list[Scale]:
    """Resize outside a rollout step: the only active ReplicaSet, or all of them in proportion."""
    desired = replicas_of(deployment)
    everyone = [*olds, *([new] if new is not None else [])]
    active = [one for one in everyone if replicas_of(one) > 0]
    if len(active) <= 1:
        only = active[0] if active else new if new is not None else olds[-1] if olds else None
        return [Scale(only, desired)] if only is not None and replicas_of(only) != desired else []
    if new is not None and _is_saturated(deployment, new):
        return [Scale(one, 0) for one in active if uid_of(one) != uid_of(new)]
    return _in_proportion(deployment, active) if is_rolling(deployment) else []


def _is_saturated(deployment: Object, new: Object) -> bool:
    desired = replicas_of(deployment)
    remembered = annotations_of(new).get(DESIRED_REPLICAS)
    return replicas_of(new) == desired == available_of(new) and remembered == str(desired)


def _in_proportion(deployment: Object, active: Sequence[Object]) -> list[Scale]:
    desired = replicas_of(deployment)
    allowed = desired + fence_posts(deployment)[0] if desired > 0 else 0
    to_add = allowed - sum(replicas_of(one) for one in active)
    # Large before small; of equal ones the newer grows first and the older shrinks first.
    newest_first = sorted(active, key=created_at, reverse=to_add > 0)
    ordered = sorted(newest_first, key=replicas_of, reverse=True)
    sizes = [replicas_of(one) for one in ordered]
    added = 0
    for place, one in enumerate(ordered):
        share = _share(deployment, one, to_add - added) if to_add != 0 else 0
        sizes[place] += share
        added += share
    sizes[0] = max(0, sizes[0] + to_add - added)
    return [Scale(one, size) for one, size in zip(ordered, sizes, strict=True)]


def _share(deployment: Object, one: Object, left: int) -> int:
    desired = replicas_of(deployment)
    if desired == 0:
        fraction = -replicas_of(one)
    else:
        before = int(annotations_of(one).get(MAX_REPLICAS) or 0) or status_of(deployment).get("replicas", 0)
        if not before:
            return 0
        grown = replicas_of(one) * (desired + fence_posts(deployment)[0]) / before
        fraction = floor(grown + 0.5) - replicas_of(one)
    return min(fraction, left) if left > 0 else max(fraction, left)


def plan_cleanup(deployment: Object, olds: Sequence[Object]) -> list[Object]:
    """The old ReplicaSets beyond `revisionHistoryLimit`, the oldest revisions first; only empty ones."""
    limit = spec_of(deployment).get("revisionHistoryLimit")
    if limit is None or limit == _UNLIMITED:
        return []
    ordered = sorted(
        (one for one in olds if not is_terminating(one)), key=lambda one: (revision_of(one), created_at(one))
    )
    surplus = ordered[: max(0, len(ordered) - limit)]
    return [one for one in surplus if _is_empty(one)]


def _is_empty(replica_set: Object) -> bool:
    status = status_of(replica_set)
    seen = status.get("observedGeneration", 0) >= replica_set["metadata"].get("generation", 0)
    return seen and replicas_of(replica_set) == 0 and status.get("replicas", 0) == 0

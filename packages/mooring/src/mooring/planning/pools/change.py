"""What an order would change of a pool, in words."""

from typing import Any, Literal

import msgspec

from mooring.model.pool import PoolSpec

_MOST_SHOWN = 60


class PoolChange(msgspec.Struct, frozen=True, rename="camel"):
    """`new_workers`: idle workers are replaced one after another, because their template changes."""

    action: Literal["create", "update", "unchanged"]
    changes: tuple[str, ...]
    new_workers: bool = False


def plan_pool_change(after: PoolSpec, before: PoolSpec | None) -> PoolChange:
    """The change from one spec to the other; without an earlier one the pool is created."""
    new = msgspec.to_builtins(after)
    if before is None:
        return PoolChange("create", (f"spec.warm: {after.warm}", f"spec.max: {after.max}"))
    old = msgspec.to_builtins(before)
    changes = tuple(
        f"spec.{field}: {_show(old.get(field))} -> {_show(value)}"
        for field, value in new.items()
        if old.get(field) != value
    )
    if not changes:
        return PoolChange("unchanged", ())
    return PoolChange("update", changes, new_workers=old.get("template") != new.get("template"))


def _show(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return (text[:_MOST_SHOWN] + "…" if len(text) > _MOST_SHOWN else text) or "none"

"""Conditions in a status: set one of a type, and let its transition time move only when its status does."""

from typing import Any

from drydock.api.kinds.kind import Object


def set_condition(status: Object, condition: dict[str, Any], now: str) -> None:
    """Add the condition, or replace the one of its type."""
    conditions: list[Object] = status.setdefault("conditions", [])
    for index, present in enumerate(conditions):
        if present["type"] == condition["type"]:
            moved = present.get("status") != condition["status"]
            since = now if moved else present.get("lastTransitionTime", now)
            conditions[index] = {**present, **condition, "lastTransitionTime": since}
            return
    conditions.append({**condition, "lastTransitionTime": now})

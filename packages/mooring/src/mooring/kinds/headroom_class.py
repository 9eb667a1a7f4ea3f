"""The PriorityClass of placeholder pods."""

from typing import Any

from hawser.resources import PRIORITYCLASSES
from mooring.model.headroom import CLASS_VALUE, USUAL_CLASS


def headroom_class() -> dict[str, Any]:
    """Below all ordinary pods, so that workers preempt placeholders. Placeholders preempt nothing."""
    return {
        "apiVersion": PRIORITYCLASSES.api_version,
        "kind": PRIORITYCLASSES.kind,
        "metadata": {"name": USUAL_CLASS},
        "value": CLASS_VALUE,
        "preemptionPolicy": "Never",
        "description": "Placeholder pods of Mooring's pools with headroom; workers preempt them.",
    }

"""Where pods may run, in the words that all specs share."""

from typing import Any

import msgspec


class Placement(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Where pods may run: a node pool by name, or a selector, plus additional tolerations."""

    node_pool: str = ""
    node_selector: dict[str, str] = {}
    tolerations: list[dict[str, Any]] = []
    warmup: str = ""
    warmup_required: bool = False

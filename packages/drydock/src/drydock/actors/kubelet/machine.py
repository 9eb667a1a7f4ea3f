"""The machine behind a node, as its pods see it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NodeTemplate:
    """What a node is made of. Names and addresses are added when it joins."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    capacity: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    )
    provider_id: str = ""


class Machine:
    """One node. While `awake` is not set its kubelet does and says nothing, though its containers run on."""

    def __init__(self, name: str, template: NodeTemplate, address: str) -> None:
        self.name = name
        self.template = template
        self.address = address
        self.awake = asyncio.Event()
        self.awake.set()

    @property
    def allocatable(self) -> Mapping[str, str]:
        return self.template.capacity

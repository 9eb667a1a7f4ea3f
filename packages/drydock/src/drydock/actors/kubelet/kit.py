"""What every part of a kubelet works with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from drydock.actors.machinery.events import EventRecorder, Note
from drydock.actors.machinery.objects import Object
from drydock.runtime.contract import Runtime
from hawser.client import KubeClient
from hawser.clock import Clock


@dataclass(frozen=True, slots=True)
class Kit:
    """The API, the runtime, the clock, and the recorder of events."""

    client: KubeClient
    runtime: Runtime
    clock: Clock
    events: EventRecorder
    normal_events: bool = True  # warnings are always recorded
    api_environment: Mapping[str, str] = field(default_factory=dict)  # where containers find the API

    def tell(self, pod: Object, reason: str, message: str) -> None:
        """Something went as it should."""
        if self.normal_events:
            self.events.record(Note(pod, "Pod", "v1", "Normal", reason, message))

    def warn(self, pod: Object, reason: str, message: str) -> None:
        """Something did not."""
        self.events.record(Note(pod, "Pod", "v1", "Warning", reason, message))

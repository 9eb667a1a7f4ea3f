"""What every part of a kubelet works with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mooring.clock import Clock
from mooring.kube.client import KubeClient
from mooring.sandbox.actors.events import EventRecorder, Note
from mooring.sandbox.actors.objects import Object
from mooring.sandbox.actors.runtime.contract import Runtime


@dataclass(frozen=True, slots=True)
class Kit:
    """The API, the runtime, the clock, and what to tell people."""

    client: KubeClient
    runtime: Runtime
    clock: Clock
    events: EventRecorder
    normal_events: bool = True  # warnings are always told
    api_environment: Mapping[str, str] = field(default_factory=dict)  # where containers find the API

    def tell(self, pod: Object, reason: str, message: str) -> None:
        """Something went as it should."""
        if self.normal_events:
            self.events.record(Note(pod, "Pod", "v1", "Normal", reason, message))

    def warn(self, pod: Object, reason: str, message: str) -> None:
        """Something did not."""
        self.events.record(Note(pod, "Pod", "v1", "Warning", reason, message))

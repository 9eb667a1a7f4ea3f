"""The deadline of a drain is met also where its seconds are no exact binary fractions."""

from typing import Any

import pytest

from drydock import DrainPolicy
from drydock.actors.disruption.drain import Drain
from drydock.api.kinds.kind import Object
from hawser.clock import LoopClock
from packages.testing.coroutines import START

_LOOKS_AT_MOST = 50
PROTECTED: Object = {
    "metadata": {
        "name": "held",
        "namespace": "default",
        "uid": "one",
        "annotations": {"karpenter.sh/do-not-disrupt": "true"},
    },
    "spec": {"nodeName": "node"},
    "status": {"phase": "Running"},
}


class OnePod:
    """A cluster with a protected pod, as far as a drain asks for it."""

    def __init__(self) -> None:
        self.pods = [PROTECTED]
        self.looks = 0

    @property
    def items(self) -> list[Object]:
        return self.pods

    async def list(self, *_: Any, **__: Any) -> "OnePod":
        self.looks += 1
        assert self.looks < _LOOKS_AT_MOST, "it looks again and again without waiting"
        return self

    async def get(self, *_: Any, **__: Any) -> Object:
        return {"metadata": {"name": "node", "resourceVersion": "1"}, "spec": {}}

    async def replace(self, *_: Any, **__: Any) -> None:
        return None

    merge_patch = replace

    async def delete(self, *_: Any, **__: Any) -> None:
        self.pods = []


@pytest.mark.parametrize("begin", [0.0, 0.1, 110.9, 1 / 3])
@pytest.mark.parametrize("deadline", [18.7, 0.3, 60.1])
async def test_what_is_left_at_the_deadline_is_forced(begin: float, deadline: float) -> None:
    clock, cluster = LoopClock(START), OnePod()
    await clock.sleep(begin)
    drain = Drain(cluster, clock, "node", DrainPolicy(deadline_seconds=deadline))  # type: ignore[arg-type]
    report = await drain.run()
    assert report.forced == [("default", "held")]
    assert deadline <= report.seconds + 1e-6 <= deadline + 5.1

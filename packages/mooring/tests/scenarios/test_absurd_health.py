"""A stored pool may have a health check that no CRD allows: it is not made, and the other pools' checks go on."""

import copy
import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from hawser.clock import Entropy
from packages.mooring.tests.scenarios.fuzz import Body, FuzzingTransport
from packages.mooring.tests.scenarios.harbour import NAMESPACE
from packages.mooring.tests.scenarios.test_forged_marks import bugs

ABSURD = [("periodSeconds", 0), ("periodSeconds", -1), ("timeoutSeconds", 2**63), ("port", 0), ("path", "/\r\nX: 1")]


class Rewriting(FuzzingTransport):
    """One field of the health check of one pool arrives changed."""

    def __init__(self, inner: Any, field: str, value: object) -> None:
        super().__init__(inner, Entropy(1), lambda found: found["metadata"].get("name") == "absurd")
        self._field, self._value, self.spoils = field, value, False

    def _fuzz(self, found: Body) -> Body:
        if not self.spoils or not self._chosen(found) or "health" not in (found.get("spec") or {}):
            return found
        changed = copy.deepcopy(found)
        changed["spec"]["health"][self._field] = self._value
        return changed


@pytest.mark.parametrize(("field", "value"), ABSURD)
async def test_a_health_check_that_became_absurd_is_not_made_any_more_and_others_are(world, field: str, value: object):
    rewriting = Rewriting(world.sandbox.transport, field, value)
    world.sandbox = dataclasses.replace(world.sandbox, transport=rewriting)
    replica, failures = world.start(), bugs()
    for name in ("linux", "absurd"):
        await world.pool(name=name, warm=1, max=1, health={"port": 80})
        await world.until_idle(1, name=name)
    rewriting.spoils = True
    await world.change({"idleSeconds": 301}, "absurd")
    await world.clock.sleep(30)
    sound = next(pod.metadata.uid for pod in await world.pods() if pod.metadata.name.startswith("linux"))
    answered_at = replica.mooring.health.of(f"{NAMESPACE}/linux", sound).answered_at
    assert world.clock.now() - answered_at < timedelta(seconds=5)
    assert not replica.task.done() and bugs() == failures

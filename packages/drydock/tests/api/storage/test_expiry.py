from typing import Any

from drydock.virtual.loop import VirtualLoop
from packages.drydock.tests.api.caller import caller

EVENTS = "/api/v1/namespaces/default/events"


def event(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "involvedObject": {"namespace": "default"}, "reason": "Test"}


async def test_events_are_gone_an_hour_after_they_were_last_written() -> None:
    call = caller()
    clock = VirtualLoop.running().clock
    await call.post(EVENTS, event("old"))
    await call.post(EVENTS, event("repeated"))
    await clock.sleep(1800)
    await call.patch(f"{EVENTS}/repeated", {"count": 2})
    await clock.sleep(1800)
    await call.post(EVENTS, event("new"))
    assert (await call.get(EVENTS)).names == ["new", "repeated"]
    await clock.sleep(3600)
    await call.post(EVENTS, event("last"))
    assert (await call.get(EVENTS)).names == ["last"]

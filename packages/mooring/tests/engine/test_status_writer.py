"""A status is written once, fenced on the uid, and known before the watch shows it."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from drydock import VirtualLoop
from hawser.client import KubeClient
from hawser.errors import ObjectConflict, ObjectNotFound, Status
from hawser.resources import PODS
from hawser.views import Meta
from mooring.engine.events import EventWriter
from mooring.engine.status_writer import Pause, StatusWriter
from mooring.model.why import Condition


class Count(msgspec.Struct, frozen=True):
    ready: bool
    idle: int
    conditions: tuple[Condition, ...] = ()


@dataclass
class Api:
    """Answers every patch with the next version."""

    patches: list[dict[str, Any]] = field(default_factory=list)
    gone: bool = False
    refusing: bool = False

    async def merge_patch(self, _: object, name: str, body: dict[str, Any], *__: object, **___: object) -> Any:
        if self.gone:
            raise ObjectNotFound(Status(code=404))
        if self.refusing:
            raise ObjectConflict(Status(code=409))
        self.patches.append(body)
        return SimpleNamespace(metadata=Meta(resource_version=str(10 + len(self.patches))))


POOL = SimpleNamespace(namespace="runners", name="linux", uid="pool-uid", key="runners/linux")


def writer(api: Api, pause: Pause[Count] | None = None) -> StatusWriter[Count]:
    client, clock = cast(KubeClient, api), VirtualLoop.running().clock
    status = StatusWriter(client, PODS, clock, EventWriter(client, clock), pause=pause, encode=_counts)
    status.saw(POOL.key, 10)
    return status


def _counts(status: Count) -> dict[str, Any]:
    return {"ready": status.ready, "idle": status.idle}


async def test_a_status_that_is_written_already_costs_no_request() -> None:
    api = Api()
    await writer(api).write(POOL, Count(True, 3), Count(True, 3))
    assert api.patches == []


async def test_a_write_carries_uid_and_version_and_is_known_until_the_cache_has_caught_up() -> None:
    api = Api()
    status = writer(api)
    await status.write(POOL, Count(False, 0), Count(True, 3))
    fence = {"uid": "pool-uid", "resourceVersion": "10"}
    assert api.patches == [{"metadata": fence, "status": {"ready": True, "idle": 3}}]
    assert status.latest(POOL.key, Count(False, 0), 10) == Count(True, 3)
    assert status.latest(POOL.key, Count(False, 1), 11) == Count(False, 1)


async def test_the_next_write_is_fenced_on_the_newest_version_that_was_read_or_written() -> None:
    api = Api()
    status = writer(api)
    await status.write(POOL, Count(False, 0), Count(True, 1))
    status.latest(POOL.key, Count(False, 0), 10)  # the cache lags behind the write
    await status.write(POOL, Count(True, 1), Count(True, 2))
    status.latest(POOL.key, Count(True, 2), 20)
    await status.write(POOL, Count(True, 2), Count(True, 3))
    assert [patch["metadata"]["resourceVersion"] for patch in api.patches] == ["10", "11", "20"]


async def test_after_a_conflict_the_cache_counts_also_if_it_is_older_than_what_was_written_here() -> None:
    """A cluster that was restored from a backup never reaches the version of the write again."""
    api = Api()
    status = writer(api)
    await status.write(POOL, Count(False, 0), Count(True, 1))
    api.refusing = True
    with pytest.raises(ObjectConflict):
        await status.write(POOL, Count(True, 1), Count(True, 2))
    api.refusing = False
    assert status.latest(POOL.key, Count(False, 0), 9) == Count(False, 0)
    await status.write(POOL, Count(False, 0), Count(True, 2))
    assert api.patches[-1]["metadata"]["resourceVersion"] == "9"


async def test_a_cache_that_went_back_counts_though_nothing_is_to_be_written() -> None:
    """Only a cluster that was restored from a backup shows an older version than before."""
    api = Api()
    status = writer(api)
    status.latest(POOL.key, Count(False, 0), 10)
    await status.write(POOL, Count(False, 0), Count(True, 1))
    assert status.latest(POOL.key, Count(False, 2), 9) == Count(False, 2)
    await status.write(POOL, Count(False, 2), Count(True, 1))
    assert api.patches[-1]["metadata"]["resourceVersion"] == "9"


async def test_a_write_that_the_cache_does_not_show_is_believed_for_five_minutes() -> None:
    """The cluster may have been restored to the very version that a lagging cache shows."""
    api, clock = Api(), VirtualLoop.running().clock
    status = writer(api)
    status.latest(POOL.key, Count(False, 0), 10)
    await status.write(POOL, Count(False, 0), Count(True, 1))
    await clock.sleep(299)
    assert status.latest(POOL.key, Count(False, 0), 10) == Count(True, 1)
    await clock.sleep(2)
    assert status.latest(POOL.key, Count(False, 0), 10) == Count(False, 0)
    await status.write(POOL, Count(False, 0), Count(True, 1))
    assert api.patches[-1]["metadata"]["resourceVersion"] == "10"


async def test_counts_wait_for_the_pause_and_verdicts_do_not() -> None:
    api, clock = Api(), VirtualLoop.running().clock
    status = writer(api, Pause(1.0, lambda count: count.ready))
    await status.write(POOL, Count(True, 0), Count(True, 1))
    due = await status.write(POOL, Count(True, 1), Count(True, 2))
    assert len(api.patches) == 1 and due is not None
    assert (due - clock.now()).total_seconds() == 1.0
    assert await status.write(POOL, Count(True, 1), Count(False, 2)) is None
    assert len(api.patches) == 2


async def test_the_status_of_an_object_that_is_gone_is_dropped() -> None:
    assert await writer(Api(gone=True)).write(POOL, Count(True, 0), Count(True, 1)) is None

"""Delays of the work queue, on the event loop that a server uses."""

import pytest

from hawser.queue import WorkQueue

uvloop = pytest.importorskip("uvloop")


def test_a_key_that_is_due_at_once_can_be_asked_for_again_later() -> None:
    async def ask() -> str:
        queue = WorkQueue()
        queue.add_after("a", 0.0)
        queue.add_after("a", 0.0)
        queue.add_after("a", 5.0)
        return await queue.get()

    assert uvloop.run(ask()) == "a"

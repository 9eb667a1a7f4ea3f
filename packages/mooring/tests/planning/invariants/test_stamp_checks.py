"""Which epochs on pods are believed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mooring.model.seal import SealKey
from mooring.model.worker import Stamp, Worker
from mooring.planning.invariants.stamp_checks import MOST_LOST_EPOCHS, Refusal, classify_epochs, find_refused_pods

NOW = datetime(2026, 3, 1, tzinfo=UTC)
KEY = SealKey("secret", NOW)


def stamped(epoch: int, seal: str | None = None, uid: str = "u1", age: timedelta = timedelta()) -> Worker:
    seal = KEY.seal(uid, "c1", epoch) if seal is None else seal
    created = NOW + timedelta(seconds=1) - age
    stamp = Stamp("acme", "c1", epoch, None, seal)
    return Worker("ns", "w", uid, "1", "linux", "p1", created, "", stamp=stamp)


@pytest.mark.parametrize(
    ("worker", "lost", "why"),
    [
        (stamped(5), 0, None),
        (stamped(11), 11, None),
        (stamped(11, seal=""), 0, Refusal.UNSEALED),
        (stamped(11, seal="ü"), 0, Refusal.UNSEALED),
        (stamped(11, seal=KEY.seal("another-pod", "c1", 11)), 0, Refusal.UNSEALED),
        (stamped(11, seal=KEY.seal("u1", "c1", 12)), 0, Refusal.UNSEALED),
        (stamped(11, seal="", age=timedelta(minutes=1)), 11, None),
        (stamped(11 + MOST_LOST_EPOCHS), 0, Refusal.TOO_HIGH),
        (stamped(11 + MOST_LOST_EPOCHS, age=timedelta(minutes=1)), 0, Refusal.TOO_HIGH),
    ],
)
def test_an_epoch_above_the_issued_ones_needs_a_seal_or_an_older_pod(
    worker: Worker, lost: int, why: Refusal | None
) -> None:
    found = classify_epochs([worker], issued=10, key=KEY)
    assert found.lost_epoch == lost
    assert [one.why for one in found.refused] == ([why] if why else [])


def test_the_sealed_stamp_of_a_former_pool_is_no_forgery() -> None:
    former, forged = stamped(3), stamped(3, seal="")
    assert [one.worker for one in find_refused_pods([former, forged, replace(former, stamp=None)], KEY)] == [forged]


def test_a_key_is_not_shown_in_logs() -> None:
    assert "secret" not in repr(KEY) and "secret" not in f"{KEY}"

"""Which claims a master finds again by their keys."""

from mooring.client.records import ClaimView, read_claim
from mooring_buildbot.keys import make_prefix, plan_leftovers

PREFIX = make_prefix("http://ci.example/", "worker-1")


def claim(key: str | None, state: str = "running", epoch: int | None = 7) -> ClaimView:
    body = {"id": f"claim-{key}", "namespace": "ci", "pool": "builders", "owner": "ci", "ttlSeconds": 60}
    return read_claim({**body, "state": state, "epoch": epoch, "idempotencyKey": key})


def test_only_open_claims_of_this_worker_of_this_buildbot_that_are_not_current_are_left_over() -> None:
    left, current = claim(f"{PREFIX}old"), claim(f"{PREFIX}now")
    others = [
        current,
        claim(f"{PREFIX}done", state="released"),
        claim(f"{PREFIX}foreign", epoch=None),  # another account holds it
        claim(make_prefix("http://ci.example/", "worker-11") + "a"),
        claim(make_prefix("http://other.example/", "worker-1") + "a"),
        claim(None),
    ]
    assert plan_leftovers([left, *others], PREFIX, f"{PREFIX}now") == [left]
    assert plan_leftovers(others, PREFIX, f"{PREFIX}now") == []


def test_a_waiting_claim_is_left_over_too() -> None:
    assert plan_leftovers([claim(f"{PREFIX}old", state="queued")], PREFIX, "") != []

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from mooring.model.proof import Proofs, by_ledger, by_worker
from mooring.planning.rails import World, apply_rails, compute_brakes
from packages.mooring.tests.planning.fleets import NOW

FINE = World(caches_fresh=True, nodes_total=3, nodes_ready=3, incarnation_expected="a", incarnation_seen="a")


@dataclass(frozen=True)
class Act:
    key: str
    proofs: Proofs = (by_ledger("no claim"), by_worker("not executing"))
    age_seconds: float = 400.0
    floor_seconds: float = 300.0


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (FINE, ""),
        (replace(FINE, paused="a deploy"), "paused"),
        (replace(FINE, caches_fresh=False), "not fresh"),
        (replace(FINE, nodes_total=0, nodes_ready=0), "empty"),
        (replace(FINE, nodes_ready=0), "none of 3 nodes"),
        (replace(FINE, incarnation_seen=""), "cannot be read"),
        (replace(FINE, incarnation_seen="b"), "another one"),
    ],
)
def test_every_doubt_about_the_world_is_a_brake(world, words):
    assert (words in " ".join(compute_brakes(world))) and bool(compute_brakes(world)) == bool(words)


def test_an_act_needs_two_ticks():
    first = apply_rails([Act("a")], {}, NOW)
    assert first.allowed == () and first.held[0].because == "seen on one tick only"
    second = apply_rails([Act("a")], first.sightings, NOW + timedelta(seconds=2))
    assert [act.key for act in second.allowed] == ["a"]


def test_two_looks_in_the_same_instant_are_one_tick():
    first = apply_rails([Act("a")], {}, NOW)
    assert apply_rails([Act("a")], first.sightings, NOW + timedelta(seconds=1)).allowed == ()


def test_an_act_that_was_not_asked_for_in_between_starts_again():
    first = apply_rails([Act("a")], {}, NOW)
    between = apply_rails([], first.sightings, NOW + timedelta(seconds=5))
    assert apply_rails([Act("a")], between.sightings, NOW + timedelta(seconds=10)).allowed == ()


@pytest.mark.parametrize(
    "proofs",
    [
        (by_ledger("no claim"), by_ledger("no claim")),
        (by_ledger("no claim"), by_ledger("not executing")),
        (by_ledger("no claim"), by_worker("")),
        (by_ledger(""), by_worker("not executing")),
    ],
)
def test_two_statements_of_one_source_or_an_empty_one_are_not_two_proofs(proofs):
    verdict = apply_rails([Act("a", proofs=proofs)], {"a": NOW - timedelta(minutes=1)}, NOW)
    assert verdict.allowed == ()
    assert "different sources" in verdict.held[0].because


def test_an_object_younger_than_the_floor_is_left_alone():
    seen = {"a": NOW - timedelta(minutes=1)}
    verdict = apply_rails([Act("a", age_seconds=299)], seen, NOW)
    assert verdict.allowed == () and "299 s old" in verdict.held[0].because


def test_no_more_than_the_cap_in_one_tick_and_the_rest_is_told_why_it_waits():
    acts = [Act(str(n)) for n in range(30)]
    verdict = apply_rails(acts, {act.key: NOW - timedelta(minutes=1) for act in acts}, NOW)
    assert len(verdict.allowed) == 25 and len(verdict.held) == 5
    assert verdict.wake_at is not None


def test_a_brake_holds_everything():
    seen = {"a": NOW - timedelta(minutes=1)}
    verdict = apply_rails([Act("a")], seen, NOW, brakes=("the ledger cannot be read",))
    assert verdict.allowed == () and verdict.held[0].because == "the ledger cannot be read"

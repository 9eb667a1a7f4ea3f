"""The order of a queue that owners share by weight."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as some

from mooring.model.claim import Claim, ClaimState
from mooring.planning.fairness import compute_order
from packages.mooring.tests.planning.fleets import claim


def waiting(owners: str, priority: int = 0, first: int = 1) -> list[Claim]:
    return [
        claim(f"{owner}{ticket}", owner=owner, state=ClaimState.QUEUED, priority=priority, ticket=ticket)
        for ticket, owner in enumerate(owners, first)
    ]


def order(claims: list[Claim], live: dict[str, int] | None = None, weights: dict[str, int] | None = None) -> str:
    return "".join(claim.owner for claim in compute_order(claims, live or {}, weights or {}))


def test_a_flood_of_one_owner_does_not_starve_another() -> None:
    assert order(waiting("aaaaaab")) == "abaaaaa"


def test_owners_share_by_weight() -> None:
    assert Counter(order(waiting("a" * 12 + "b" * 12), weights={"a": 2})[:9]) == {"a": 6, "b": 3}


def test_who_holds_less_is_served_first() -> None:
    assert order(waiting("aabb"), live={"a": 3, "b": 1}) == "bbaa"


def test_a_higher_priority_comes_first_whoever_asks() -> None:
    claims = [*waiting("aa", priority=5), *waiting("b", first=3)]
    assert order(claims, live={"a": 9}) == "aab"


@given(some.text("abc", max_size=30), some.dictionaries(some.sampled_from("abc"), some.integers(1, 9)))
def test_every_claim_is_served_once_and_claims_of_one_owner_in_their_order(
    owners: str, weights: dict[str, int]
) -> None:
    claims = waiting(owners)
    ordered = compute_order(claims, {}, weights)
    assert sorted(claim.ticket for claim in ordered) == [claim.ticket for claim in claims]
    for owner in set(owners):
        own = [claim.ticket for claim in ordered if claim.owner == owner]
        assert own == sorted(own)

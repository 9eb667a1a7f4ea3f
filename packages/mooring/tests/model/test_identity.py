"""Callers: the owner and the actor that follow from a user name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.identity import LOCAL_READER, OPERATOR, Identity, actor_of, holder_of, owner_of
from mooring.model.names import OWNER_VALUE


@pytest.mark.parametrize(
    ("user", "owner"),
    [
        ("ci", "ci"),
        ("system:serviceaccount:runners:ci-bot", "runners.ci-bot"),
        ("jane@example.org", "jane-example.org-13d855ce931073d4"),
        ("-", "3973e022e93220f9"),
        ("system:serviceaccount:runners:" + "a" * 60, "runners." + "a" * 38 + "-e1d166fdb8cb7388"),
    ],
)
def test_the_owner_of_a_caller_is_a_label_value(user: str, owner: str) -> None:
    assert owner_of(Identity(user)) == owner


@given(st.text(min_size=1, max_size=300))
def test_every_user_name_has_an_owner(user: str) -> None:
    assert OWNER_VALUE.fullmatch(owner_of(Identity(user)))


def test_users_whose_names_differ_in_replaced_characters_are_different_owners() -> None:
    assert owner_of(Identity("a@b")) != owner_of(Identity("a/b"))
    assert owner_of(Identity("ci.builder")) != owner_of(Identity("system:serviceaccount:ci:builder"))


@pytest.mark.parametrize("victim", ["jane@corp", "-", "jane.doe@example.org", "operator"])
def test_nobody_becomes_the_owner_of_another_user_by_a_name_that_ends_in_its_hash(victim: str) -> None:
    owner = owner_of(Identity(victim))
    names = [owner, *([f"system:serviceaccount:{owner.replace('.', ':', 1)}"] if "." in owner else [])]
    assert owner not in {owner_of(Identity(name)) for name in names}


@pytest.mark.parametrize("own", ["claim/1", "invariant/warm-floor", "replica/a", "worker/runners/linux-1", "user/x"])
def test_a_user_cannot_act_under_one_of_moorings_own_names(own: str) -> None:
    assert actor_of(Identity(own)) == f"user/{own}"
    assert actor_of(Identity("jane")) == "jane"


@pytest.mark.parametrize("own", [OPERATOR, LOCAL_READER])
def test_a_user_of_the_cluster_who_is_called_operator_is_not_the_operator(own: Identity) -> None:
    for name in (own.user, holder_of(own), f"user/{holder_of(own)}"):
        user = Identity(name)
        assert actor_of(user) != actor_of(own)
        assert holder_of(user) != holder_of(own)
        assert owner_of(user) != owner_of(own)


def test_no_two_users_are_one_holder() -> None:
    names = (
        "operator",
        "operator/operator",
        "user/operator/operator",
        "user/user/operator/operator",
        "jane",
        "user/jane",
    )
    holders = {holder_of(Identity(name)) for name in names} | {holder_of(OPERATOR)}
    assert len(holders) == len(names) + 1


def test_only_members_of_the_operators_group_are_operators() -> None:
    assert OPERATOR.is_operator
    assert not Identity("operator").is_operator

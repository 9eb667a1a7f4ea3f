"""Callers: the owner and the actor that follow from a user name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.identity import OPERATOR, Identity, actor_of, owner_of
from mooring.model.names import OWNER_VALUE


@pytest.mark.parametrize(
    ("user", "owner"),
    [
        ("ci", "ci"),
        ("system:serviceaccount:runners:ci-bot", "runners.ci-bot"),
        ("jane@example.org", "jane-example.org-13d855ce"),
        ("-", "3973e022"),
        ("system:serviceaccount:runners:" + "a" * 60, "runners." + "a" * 46 + "-e1d166fd"),
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


@pytest.mark.parametrize("own", ["claim/1", "invariant/warm-floor", "replica/a", "worker/runners/linux-1", "user/x"])
def test_a_user_cannot_act_under_one_of_moorings_own_names(own: str) -> None:
    assert actor_of(Identity(own)) == f"user/{own}"
    assert actor_of(Identity("jane")) == "jane"


def test_only_members_of_the_operators_group_are_operators() -> None:
    assert OPERATOR.is_operator
    assert not Identity("operator").is_operator

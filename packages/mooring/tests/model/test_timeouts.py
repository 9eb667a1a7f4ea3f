"""The order of timeouts: the defaults have it, hurrying keeps it, and whoever breaks it is told which two."""

from dataclasses import fields, replace

import pytest

from mooring.model.errors import Misconfigured
from mooring.model.timeouts import Timeouts, assert_order


@pytest.mark.parametrize("times", [1, 2, 12, 60])
def test_the_order_holds_however_much_it_is_hurried(times: float) -> None:
    assert_order(Timeouts().hurried(times))


def test_hurried_watches_end_before_they_count_as_silent() -> None:
    hurried = Timeouts().hurried(12)
    assert 2 * hurried.watch_life < hurried.watch_silence
    assert hurried.reap_grace == Timeouts().reap_grace / 12


def test_a_grace_shorter_than_a_round_is_refused_by_both_names() -> None:
    with pytest.raises(Misconfigured, match=r"reap_period.*must be shorter than reap_grace"):
        assert_order(replace(Timeouts(), reap_period=400.0))


@pytest.mark.parametrize("name", [field.name for field in fields(Timeouts)])
def test_nothing_takes_no_time(name: str) -> None:
    with pytest.raises(Misconfigured, match=name):
        assert_order(replace(Timeouts(), **{name: 0.0}))

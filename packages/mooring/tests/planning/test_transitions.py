"""Which changes of conditions become Events."""

import inspect
import re

import pytest

from mooring.model.why import Condition
from mooring.planning.services import plan
from mooring.planning.transitions import compute_transitions, is_warning

READY = Condition("Ready", "True", "FloorHeld", "at least 2 idle")
STARTING = Condition("Ready", "False", "Starting", "0 of 2 idle, 2 starting")
AT_MAX = Condition("Ready", "False", "AtMax", "at max (4 of 4): 2 more wanted")
VALID = Condition("Valid", "True", "Accepted", "the spec is valid")
INVALID = Condition("Valid", "False", "InvalidSpec", "spec.warm: 9 is not allowed")
RUNNING = Condition("Finished", "False", "Running", "2 of 4 Jobs")
FAILED = Condition("Finished", "True", "Failed", "batch-1 failed")
ROLLED_BACK = Condition("RolledBack", "True", "ImageFailed", "the image cannot be pulled")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((), (READY, VALID), [("FloorHeld", False)]),
        ((STARTING,), (READY,), [("FloorHeld", False)]),
        ((READY,), (AT_MAX,), [("AtMax", True)]),
        ((STARTING,), (AT_MAX,), [("AtMax", True)]),
        ((VALID,), (INVALID,), [("InvalidSpec", True)]),
        ((INVALID,), (VALID,), [("Accepted", False)]),
        ((RUNNING,), (FAILED,), [("Failed", True)]),
        ((), (RUNNING,), [("Running", False)]),
        ((), (ROLLED_BACK,), [("ImageFailed", True)]),
        ((READY, VALID), (READY, VALID), []),
        ((), (VALID,), []),
    ],
)
def test_summaries_failures_and_recoveries_are_reported(before, after, expected):
    found = [(each.condition.reason, each.warning) for each in compute_transitions(before, after)]
    assert found == expected


def test_a_new_message_alone_is_no_change():
    fewer = Condition("Ready", "False", "Starting", "1 of 2 idle, 1 starting")
    assert compute_transitions((STARTING,), (fewer,)) == ()


@pytest.mark.parametrize("code", ["Applying", "RollingOut", "EndpointsNotReady", "DocumentNotRead", "ScaledToZero"])
def test_a_service_that_starts_or_is_scaled_to_zero_is_no_warning(code):
    assert [each.warning for each in compute_transitions((), (Condition("Serving", "False", code, "..."),))] == [False]


def test_every_state_on_the_way_to_serving_is_known():
    source = inspect.getsource(plan)
    starting = set(re.findall(r'Verdict\("(?:Starting|Absent)", "(\w+)"', source))
    assert "RollingOut" in starting
    warned = {code for code in starting if is_warning(Condition("Serving", "False", code, "..."))}
    assert not warned

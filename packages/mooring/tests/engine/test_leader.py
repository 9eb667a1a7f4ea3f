"""When a replica looks at the others again."""

import pytest

from mooring.engine.leader import plan_pause
from mooring.model.timeouts import Timeouts

TIMES = Timeouts()
SILENT = [
    ({}, 2.0),
    ({"other": 0.0}, 2.0),
    ({"other": 4.9}, 2.0),
    ({"other": 5.5}, 1.5),
    ({"other": 6.8, "third": 0.0}, 0.2),
    ({"other": 7.0}, 2.0),  # it counts as dead already
]


@pytest.mark.parametrize(("silent", "pause"), SILENT)
def test_the_next_look_is_a_heartbeat_later_or_when_another_replica_would_count_as_dead(silent, pause):
    assert plan_pause(silent, TIMES.replica_heartbeat, TIMES.replica_dead) == pytest.approx(pause)


def test_a_look_never_follows_at_once():
    assert plan_pause({"other": 6.9999999}, TIMES.replica_heartbeat, TIMES.replica_dead) == 0.05


def test_a_killed_leader_is_dead_for_its_successor_within_nine_seconds_at_any_phase():
    """Its last heartbeat is seen up to one look later: one second is left of the ten for slow statements."""
    heartbeat, dead = TIMES.replica_heartbeat, TIMES.replica_dead
    for seen_after in (0.0, 0.3, 1.0, 1.7, 1.999):
        silent = 0.0
        while silent < dead:
            silent += plan_pause({"leader": silent}, heartbeat, dead)
        assert seen_after + silent <= heartbeat + dead + 0.05

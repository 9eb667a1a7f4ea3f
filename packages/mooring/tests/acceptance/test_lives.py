"""From nothing to a fleet, killed, started again on the same state, and stopped: what each life leaves behind."""

import os
import signal
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import READY_SECONDS, Up, processes_of, until
from packages.mooring.tests.requirements import require_kubectl, require_kubernetes

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

POOLS = {"runners/linux": 8, "queries/duck": 4}


@dataclass(frozen=True, slots=True)
class Fleet:
    """What must survive a crash: who is there, and which pools they belong to."""

    pools: dict[str, str]
    pods: dict[str, str]

    @classmethod
    def of(cls, up: Up) -> "Fleet":
        for pool, count in POOLS.items():
            up.until_settled(pool, count)
        return cls(_uids(up, "workerpools"), _uids(up, "pods", "-l", "mooring.dev/pool"))


def _uids(up: Up, kind: str, *selection: str) -> dict[str, str]:
    named = (item["metadata"] for item in up.objects(kind, "-A", *selection))
    return {f"{meta['namespace']}/{meta['name']}": meta["uid"] for meta in named}


@dataclass(frozen=True, slots=True)
class Story:
    """What was seen over two lives on one state."""

    first_start_seconds: float
    second_start_seconds: float
    modes: dict[str, int]
    first_token: str
    second_token: str
    before: Fleet
    after: Fleet
    first_processes: dict[int, str]
    second_processes: dict[int, str]
    exit_code: int
    stop_seconds: float
    left_running: dict[int, str]
    url_left: bool
    complaints: str


def _mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture(scope="module")
def story(cluster: str) -> Iterator[Story]:
    require_kubectl()
    if cluster == "kubernetes":
        require_kubernetes()
    up = Up("--cluster", cluster, "--no-traffic")
    try:
        yield _live_twice(up)
    finally:
        up.close()


def _live_twice(up: Up) -> Story:
    first_start = up.start()
    modes = {name: _mode(up.state / name) for name in ("kubeconfig", "url", "token")}
    first_token, before = up.token, Fleet.of(up)
    first_processes = up.processes()
    up.kill()
    second_start = up.start()
    after = Fleet.of(up)
    second_processes = up.processes()
    second_token = (up.state / "token").read_text().strip()
    asked = time.monotonic()
    exit_code = up.interrupt()
    return Story(
        first_start,
        second_start,
        modes,
        first_token,
        second_token,
        before,
        after,
        first_processes,
        second_processes,
        exit_code,
        time.monotonic() - asked,
        processes_of(up.state),
        (up.state / "url").exists(),
        up.err(),
    )


def test_from_nothing_to_ready_in_less_than_a_minute(story: Story, cluster: str):
    print(f"{cluster}: ready after {story.first_start_seconds:.1f} s, again after {story.second_start_seconds:.1f} s")
    assert story.first_start_seconds < READY_SECONDS
    assert story.second_start_seconds < READY_SECONDS


def test_what_opens_doors_is_readable_by_its_owner_only(story: Story):
    assert story.modes["token"] == 0o600
    assert story.modes["kubeconfig"] == 0o600


def test_after_kill_9_the_next_life_goes_on_with_the_same_fleet(story: Story):
    assert story.after.pools == story.before.pools
    assert story.after.pods == story.before.pods


def test_after_kill_9_clients_need_no_new_token(story: Story):
    assert story.first_token == story.second_token


def test_nothing_of_the_killed_life_still_runs_in_the_next_one(story: Story):
    assert len(story.first_processes) > sum(POOLS.values()), "workers, the database and Mooring itself were seen"
    assert not story.first_processes.keys() & story.second_processes.keys()


def test_ctrl_c_ends_every_worker_the_database_and_the_cluster(story: Story, cluster: str):
    print(f"{cluster}: stopped after {story.stop_seconds:.1f} s")
    assert story.left_running == {}
    assert story.exit_code == 0


def test_a_stopped_mooring_does_not_claim_to_be_somewhere(story: Story):
    assert not story.url_left


def test_nothing_was_complained_about(story: Story):
    assert "Traceback" not in story.complaints
    assert '"level": "error"' not in story.complaints


def test_a_supervisor_s_sigterm_leaves_nothing_either():
    up = Up("--no-demo")
    try:
        up.start()
        assert up.terminate() == 0
        until(lambda: not up.processes(), 5, "nothing left")
    finally:
        up.close()


def test_a_second_ctrl_c_ends_it_at_once_and_leaves_nothing_either():
    up = Up("--no-demo")
    try:
        up.start()
        up.signal(signal.SIGINT)
        up.interrupt()
        until(lambda: not up.processes(), 10, "nothing left")
    finally:
        up.close()


def test_ctrl_c_before_it_is_ready_leaves_nothing():
    up = Up("--no-demo")
    try:
        up.launch()
        until(lambda: any("postgres" in command for command in up.processes().values()), 30, "PostgreSQL")
        up.interrupt()
        until(lambda: not up.processes(), 10, "nothing left")
        assert "Traceback" not in up.err()
    finally:
        up.close()

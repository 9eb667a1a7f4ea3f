"""A release on real nodes: claims from a pod, an upgrade under load, the leader's death, and the uninstall hook."""

import json
import re
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.client.connection import Connection
from mooring.model import names
from packages.mooring.tests.chart.rendering import Body
from packages.mooring.tests.nodes.client_pod import ACCOUNT, CLIENT, KEY, POOL, WORKER_PORT, make_client, make_pool
from packages.mooring.tests.nodes.images import LATER_RELEASE, RELEASE
from packages.mooring.tests.nodes.installation import NAMESPACE, WORK, Installation

pytestmark = [pytest.mark.nodes, pytest.mark.slow, pytest.mark.realtime]

CLAIMS_PER_SECOND = 20
SESSION_SECONDS = 90.0  # for its claim, with its wait of a minute
SESSION = re.compile(r"session (\S+) (\S+)$")  # behind half a line of stderr, because exec merges both
WORKERS = 16
FAILOVER_SECONDS = 45  # about 10 where nothing else runs; this machine runs a whole cluster and other tests
TRAFFIC = Path(__file__).with_name("traffic.py").read_text()
ASK_WORKER = f"""
import os, urllib.request
address = os.environ["MOORING_WORKER_ADDRESS"]
print(urllib.request.urlopen(f"http://{{address}}:{WORKER_PORT}").read().decode())
"""
HOLD = """
echo "session $MOORING_CLAIM_ID $MOORING_WORKER_ADDRESS"
until [ -e "/tmp/end-$MOORING_CLAIM_ID" ]; do sleep 0.5; done
"""


@pytest.fixture(scope="module")
def mooring(mooring: Installation) -> Installation:
    """With a client and a warm pool."""
    make_client(mooring)
    make_pool(mooring, WORKERS)
    return mooring


def workers(mooring: Installation) -> dict[str, Body]:
    """The pods of the pool by uid."""
    pods = mooring.get("-n", WORK, "pods", "-l", f"{names.POOL}={POOL}")
    return {pod["metadata"]["uid"]: pod for pod in pods}


def protected(mooring: Installation) -> set[str]:
    """Names of the workers that are protected."""
    return {
        pod["metadata"]["name"]
        for pod in workers(mooring).values()
        if names.BUSY in pod["metadata"]["labels"] or names.DO_NOT_DISRUPT in pod["metadata"].get("annotations", {})
    }


@contextmanager
def session(mooring: Installation) -> Iterator[str]:
    """A claim that a process in the client's pod holds until the end of the block; the name of its worker."""
    command = ["python3", "-m", "mooring", "claim", KEY, "--ttl", "1m", "--wait", "60s", "--"]
    running = mooring.kubectl_process("-n", WORK, "exec", CLIENT, "--", *command, "sh", "-c", HOLD)
    assert running.stdout is not None
    told: list[str] = []
    found = None
    patience = threading.Timer(SESSION_SECONDS, running.kill)
    patience.start()
    for line in running.stdout:
        told.append(line)
        if found := SESSION.search(line):
            break
    patience.cancel()
    assert found is not None, told
    claim, address = found.groups()
    try:
        yield next(
            pod["metadata"]["name"] for pod in workers(mooring).values() if pod["status"].get("podIP") == address
        )
    finally:
        mooring.run_in(CLIENT, "touch", f"/tmp/end-{claim}")
        said, _ = running.communicate(timeout=60)
    assert running.returncode == 0, said


def test_a_pod_claims_by_service_name_with_the_token_of_its_service_account(mooring: Installation) -> None:
    assert f"system:serviceaccount:{WORK}:{ACCOUNT}" in mooring.run_in(CLIENT, "python3", "-m", "mooring", "whoami")
    claim = ["python3", "-m", "mooring", "claim", KEY, "--wait", "60s", "--", "python3", "-c", ASK_WORKER]
    answer = mooring.run_in(CLIENT, *claim)
    assert answer.split()[-1] in {pod["metadata"]["name"] for pod in workers(mooring).values()}
    mooring.until(lambda: not protected(mooring), "the worker is free again")


def test_a_token_for_another_audience_is_refused(mooring: Installation) -> None:
    file = "MOORING_TOKEN_FILE=/var/run/secrets/kubernetes.io/serviceaccount/token"
    refused = mooring.kubectl(
        "-n", WORK, "exec", CLIENT, "--", "env", file, "python3", "-m", "mooring", "whoami", fails=True
    )
    assert "401" in refused or "token" in refused, refused


class Traffic:
    """Claims from the client's pod in the background."""

    def __init__(self, mooring: Installation) -> None:
        self._mooring = mooring
        command = ("-n", WORK, "exec", "-i", CLIENT, "--", "python3", "-", KEY, str(CLAIMS_PER_SECOND), "/tmp/stop")
        mooring.run_in(CLIENT, "rm", "-f", "/tmp/stop")
        self._running = mooring.kubectl_process(*command, stdin=subprocess.PIPE)
        assert self._running.stdin is not None
        self._running.stdin.write(TRAFFIC)
        self._running.stdin.close()
        self._running.stdin = None

    def end(self) -> Body:
        self._mooring.run_in(CLIENT, "touch", "/tmp/stop")
        said, _ = self._running.communicate(timeout=90)
        assert self._running.returncode == 0, said
        told: Body = json.loads(said.splitlines()[-1])
        return told


def images_of(mooring: Installation) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in mooring.replicas()}


def test_an_upgrade_and_a_rollback_under_20_claims_a_second_lose_none(mooring: Installation) -> None:
    before = set(workers(mooring))
    with session(mooring) as held:
        traffic = Traffic(mooring)
        time.sleep(3)
        mooring.release("upgrade", image={"tag": LATER_RELEASE, "pullPolicy": "Never"})
        assert images_of(mooring) == {f"mooring:{LATER_RELEASE}"}
        mooring.helm("rollback", "mooring", "--namespace", NAMESPACE, "--wait", "--timeout", "110s")
        assert images_of(mooring) == {f"mooring:{RELEASE}"}
        told = traffic.end()
        assert held in protected(mooring), "a session goes on through both"
    waits = sorted(told["seconds"])
    print(f"{told['asked']} claims, {told['rate']} a second; p50 {statistics.median(waits)} s, longest {waits[-1]} s")
    assert told["failures"] == []
    assert len(set(told["claims"])) == told["asked"] > 5 * CLAIMS_PER_SECOND
    with mooring.operator() as endpoint:
        listed = Connection(endpoint).get(f"/v1/claims?pool={KEY}&limit=500")["items"]
    ended = {claim["state"] for claim in listed}
    assert ended <= {"released", "expired"}, "expired: a machine that is too busy for the client's release in time"
    assert set(workers(mooring)) == before, "no worker was replaced"


def leader(mooring: Installation) -> str:
    with mooring.operator() as endpoint:
        checks = Connection(endpoint).get("/v1/doctor")["checks"]
    return str(next(check["evidence"].get("leader", "") for check in checks if check["id"] == "leader"))


def test_the_leader_is_killed_and_its_successor_protects_exactly_the_busy_workers(mooring: Installation) -> None:
    before = set(workers(mooring))
    mooring.until(lambda: leader(mooring) in {pod["metadata"]["name"] for pod in mooring.replicas()}, "a replica leads")
    first = leader(mooring)
    with session(mooring) as staying:
        with session(mooring):
            assert len(protected(mooring)) == 2
            mooring.nodes.inject("oom", f"{NAMESPACE}/{first}")
            killed = time.monotonic()
        with session(mooring) as new:
            mooring.until(lambda: leader(mooring) not in ("", first), "another replica leads", 60)
            took = time.monotonic() - killed
            mooring.until(lambda: protected(mooring) == {staying, new}, "exactly the busy workers are protected", 30)
    print(f"another replica led {took:.1f} s after the kernel had killed {first}")
    assert took < FAILOVER_SECONDS
    mooring.until(lambda: not protected(mooring), "nobody is busy, and nobody is protected")
    assert set(workers(mooring)) == before, "no worker was replaced"
    ended = [
        status["lastState"]["terminated"]["reason"]
        for pod in mooring.replicas()
        for status in pod["status"]["containerStatuses"]
        if pod["metadata"]["name"] == first and "terminated" in status.get("lastState", {})
    ]
    assert ended == ["OOMKilled"]


def test_the_uninstall_hook_runs_as_a_pod_and_leaves_workers_running_without_protection(mooring: Installation) -> None:
    before = set(workers(mooring))
    with session(mooring) as busy:
        assert protected(mooring) == {busy}
        mooring.helm("uninstall", "mooring", "--namespace", NAMESPACE, "--wait", "--timeout", "110s")
        events = mooring.get("-n", NAMESPACE, "events")
        hook = {
            event["involvedObject"]["name"]
            for event in events
            if event["reason"] == "Started" and event["involvedObject"]["name"].startswith("mooring-uninstall-")
        }
        assert len(hook) == 1, "one container of the hook ran, and needed no second attempt"
        assert set(workers(mooring)) == before
        assert protected(mooring) == set()
        assert all(names.OWNER not in pod["metadata"].get("annotations", {}) for pod in workers(mooring).values())
        assert mooring.get("-n", WORK, "poddisruptionbudgets") == []
        assert mooring.replicas() == []

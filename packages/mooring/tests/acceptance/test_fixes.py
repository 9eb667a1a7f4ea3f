"""Every command that is printed as a fix runs in a shell, says something, and is not the command that printed it."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.mooring.tests.acceptance.world import MOORING, Finished, Up, until
from packages.mooring.tests.requirements import require_kubectl

NAMESPACE = "sick"
COMMANDS = ("kubectl ", "mooring ")
LISTINGS = tuple(f"mooring {noun}" for noun in ("pools", "workers", "nodes", "claims", "audit", "warmups", "services"))
PAUSED = "account-has-pod"
BASE: dict[str, Any] = {"warm": 1, "max": 1, "reuse": "Always"}


def pool(name: str, container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    placed = {"placement": {"tolerations": [{"operator": "Exists"}]}}
    template = {"spec": {"containers": [{"name": "worker", "image": "busybox", **container}]}}
    return {
        "apiVersion": "mooring.dev/v1alpha1",
        "kind": "WorkerPool",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {**BASE, **placed, "template": template, **spec},
    }


IDLE = {"command": ["sleep", "infinity"]}
SICK = {
    "crashing": pool("crashing", {"command": ["sh", "-c", "echo cannot find config; exit 1"]}),
    "huge": pool("huge", {**IDLE, "resources": {"requests": {"cpu": "900"}}}),
    "nowhere": pool("nowhere", IDLE, placement={"nodePool": "nowhere"}),
    "unpulled": pool("unpulled", {**IDLE, "image": "private.example.invalid/odd:1"}),
    "full": pool("full", IDLE),
}


@pytest.fixture(scope="module")
def sick(up: Up) -> Iterator[Up]:
    """Pools that are sick in different ways, a claim that holds the only worker, and an invariant that is paused."""
    up.kubectl("create", "namespace", NAMESPACE)
    up.kubectl("apply", "-f", "-", body={"apiVersion": "v1", "kind": "List", "items": list(SICK.values())})
    until(lambda: up.idle(f"{NAMESPACE}/full"), 60, "an idle worker of full")
    with up.http() as http:
        claim = {"owner": "tester", "ttlSeconds": 600}
        http.post(f"/v1/pools/{NAMESPACE}/full/claims", json=claim).raise_for_status()
        http.post(f"/v1/invariants/{PAUSED}/pause", json={"reason": "a test"}).raise_for_status()
        until(lambda: _line(up, "crashing") and _line(up, "unpulled"), 120, "doctor's lines of the sick pools", 1.0)
        yield up
        http.post(f"/v1/invariants/{PAUSED}/resume", json={"reason": "over"}).raise_for_status()
    up.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def _line(up: Up, name: str) -> dict[str, Any] | None:
    checks = up.get("/v1/doctor")["checks"]
    return next((check for check in checks if check["id"] == f"pool/{NAMESPACE}/{name}"), None)


def shell(up: Up, command: str) -> Finished:
    """As somebody would who pastes it."""
    folders = [str(Path(require_kubectl()).parent), str(Path(MOORING).parent), os.environ["PATH"]]
    environment = {
        "KUBECONFIG": str(up.kubeconfig),
        "MOORING_STATE": str(up.state),
        "PATH": os.pathsep.join(folders),
        "HOME": str(up.home),
        "KUBE_EDITOR": "true",
    }
    done = subprocess.run(
        ["bash", "-uc", command], env=environment, capture_output=True, text=True, timeout=90, check=False
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def test_a_crashing_pool_is_one_failing_line_with_its_last_words(sick: Up):
    line = _line(sick, "crashing")
    assert line is not None and line["status"] == "fail"
    assert "cannot find config" in line["message"]
    assert "raise" not in line["fix"]


@pytest.mark.parametrize("printed_by", ["doctor", "pools", "workers", "nodes", "invariants", "warmups", "services"])
def test_every_fix_that_is_a_command_runs_and_shows_something(sick: Up, printed_by: str):
    fixes = {fix for fix in _fixes(sick.get(f"/v1/{printed_by}")) if fix.startswith(COMMANDS)}
    if printed_by in ("doctor", "pools", "invariants"):
        assert fixes, "something is sick here"
    for fix in sorted(fixes):
        assert not re.search(r"<[A-Z_/]+>", fix), f"a blank in {fix!r}: run it with its blank filled in"
        for command in fix.split("; "):
            plain = command.partition("  #")[0].strip()
            assert plain != f"mooring {printed_by}", "the command that was just typed helps nobody"
            done = shell(sick, command)
            # Doctor ends with 1 where it finds something, which is why it was named.
            assert done.code == 0 or (plain == "mooring doctor" and done.code == 1), f"{command}: {done.err}"
            lists = plain.startswith(LISTINGS)
            assert len((done.out + done.err).splitlines()) > lists, f"{command} shows nothing"


def _fixes(found: Any) -> Iterator[str]:
    """Every `fix` at any depth."""
    if isinstance(found, dict):
        if isinstance(found.get("fix"), str):
            yield found["fix"]
        for value in found.values():
            yield from _fixes(value)
    elif isinstance(found, list):
        for value in found:
            yield from _fixes(value)


def test_a_refused_claim_of_a_crashing_pool_names_the_worker_to_look_at(sick: Up):
    with sick.http() as http:
        refused = http.post(f"/v1/pools/{NAMESPACE}/crashing/claims", json={"owner": "tester"})
    assert refused.status_code == 503
    fix = refused.json()["detail"]["why"]["fix"]
    assert fix == f"mooring explain pod/{NAMESPACE}/crashing-0"
    done = shell(sick, fix + " -o json")
    assert done.code == 0 and "cannot find config" in json.dumps(json.loads(done.out)["failure"])

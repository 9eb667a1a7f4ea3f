"""`mooring logs`, `exec`, `run` and `open`: with the caller's kubeconfig, on the cluster that is meant."""

import json
from pathlib import Path
from subprocess import run

import pytest

from packages.mooring.tests.acceptance.world import MOORING, Finished, Up, clean_environment, run_command
from packages.mooring.tests.requirements import require_kubectl


@pytest.fixture(autouse=True)
def kubectl() -> None:
    require_kubectl()


def command(up: Up, *arguments: str, **environment: str) -> Finished:
    """The state folder by the environment: what follows `--` belongs to the other command."""
    return run_command(*arguments, MOORING_STATE=str(up.state), **environment)


def open_claims(up: Up, owner: str) -> list[str]:
    return up.command("claims", "--owner", owner, "-o", "name").out.split()


@pytest.fixture
def worker(up: Up) -> str:
    """One that is there: each session in this pool costs its worker."""
    return up.command("workers", "--pool", "queries/duck", "-o", "name").out.split()[0].removeprefix("worker/")


def test_the_log_of_a_worker_is_printed(up: Up, worker: str):
    done = up.command("logs", worker, "--lines", "5")
    assert done.code == 0 and "healthy at" in done.out, done.err


def test_a_command_in_a_worker_has_its_streams_and_its_exit_code(up: Up, worker: str):
    done = command(up, "exec", worker, "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    assert (done.code, done.out) == (5, "out\n") and "err\n" in done.err


def test_an_unknown_worker_is_answered_with_a_suggestion(up: Up):
    done = command(up, "exec", "queries/dukc-0", "--", "true")
    assert done.code == 3 and "did you mean 'queries/duck-" in done.err


def test_run_claims_a_worker_runs_there_and_releases(up: Up):
    done = command(up, "run", "queries/duck", "--owner", "runner-test", "--", "sh", "-c", "echo $POD_IP-there; exit 4")
    assert (done.code, done.out.endswith("-there\n")) == (4, True), done.err
    assert open_claims(up, "runner-test") == []


def test_a_pool_may_be_named_without_its_namespace(up: Up):
    for words in (("run", "duck"), ("claim", "duck")):
        done = command(up, *words, "--owner", "short-name", "--", "true")
        assert done.code == 0, done.err
    done = command(up, "claim", "dukc", "--owner", "short-name", "--", "true")
    assert done.code == 3 and "did you mean 'queries/duck'" in done.err


def test_a_kubeconfig_that_does_not_reach_the_cluster_is_refused_before_anything_runs(up: Up, worker: str, tmp_path):
    elsewhere = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context], "users": []}
    elsewhere.write_text(json.dumps({**config, "current-context": "c"}))
    given = ("--kubeconfig", str(elsewhere), "--", "true")
    for words in (("exec", worker), ("run", "queries/duck", "--owner", "lost")):
        done = command(up, *words, *given)
        assert done.code == 1 and "kubectl does not find pod" in done.err and "--kubeconfig" in done.err
    assert open_claims(up, "lost") == []


def test_the_same_name_in_another_cluster_is_refused(up: Up, worker: str, tmp_path):
    """A kubectl that knows another pod of this name."""
    fake = tmp_path / "kubectl"
    fake.write_text("#!/bin/sh\necho another-uid\n")
    fake.chmod(0o755)
    done = command(up, "exec", worker, "--", "true", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.code == 1 and "has uid another-uid, the worker has" in done.err


def test_without_kubectl_the_error_names_it(up: Up, worker: str, tmp_path):
    done = up.command("logs", worker, PATH=str(tmp_path))
    assert done.code == 1 and "install kubectl" in done.err


def test_open_prints_the_address(up: Up):
    assert up.command("open", "--print").out == f"{up.url}/\n"


def test_kubectl_finds_mooring_as_its_plugin(up: Up):
    path = f"{Path(MOORING).parent}:/usr/bin:/bin:/usr/local/bin"
    command = [require_kubectl(), "mooring", "pools", "-o", "name", "--state", str(up.state)]
    done = run(command, capture_output=True, text=True, env={**clean_environment(), "PATH": path}, check=False)
    assert done.returncode == 0 and "pool/queries/duck" in done.stdout, done.stderr

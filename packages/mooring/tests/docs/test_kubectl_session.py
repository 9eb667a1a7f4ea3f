"""The session of docs/tutorial/kubectl.md, line by line, with a real kubectl against the sandbox."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.kinds import load_crds
from packages.mooring.tests.docs.session import run_step, steps_of
from packages.mooring.tests.kinds.test_descriptions import FIELDS
from packages.mooring.tests.requirements import require_kubectl

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A sandbox of two nodes, as a user starts it, with Mooring's kinds in it."""
    import sys

    import yaml

    kubectl = require_kubectl()
    state = tmp_path_factory.mktemp("sandbox")
    command = [sys.executable, "-m", "mooring", "sandbox", "--nodes", "2", "--state", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready: ")
        definitions = yaml.safe_dump_all(load_crds())
        arguments = [kubectl, "--kubeconfig", str(state / "kubeconfig"), "apply", "-f", "-"]
        subprocess.run(arguments, input=definitions, text=True, check=True, capture_output=True)
        yield state / "kubeconfig"
        process.terminate()
        assert process.wait(30) == 0


def test_every_line_of_the_documented_session_works(kubeconfig: Path) -> None:
    kubectl = require_kubectl()
    version = subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True, check=True).stdout
    print(f"kubectl: {kubectl}, {version.splitlines()[0]}")
    steps = list(steps_of("tutorial/kubectl.md"))
    assert len(steps) > 40
    for step in steps:
        run_step(step, {"KUBECONFIG": str(kubeconfig)})


@pytest.mark.slow
def test_explain_answers_for_every_field_of_every_kind(kubeconfig: Path) -> None:
    paths = [path.replace("[]", "") for path, _ in FIELDS]
    script = f'out=$({require_kubectl()} explain "$0") || exit 255; echo "$0|$(echo $out)"'
    done = subprocess.run(
        ["xargs", "-n", "1", "-P", "2", "sh", "-c", script],
        input="\n".join(paths),
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    explained = dict(line.split("|", 1) for line in done.stdout.splitlines())
    for path, (_, field) in zip(paths, FIELDS, strict=True):
        own = (
            "" if path.endswith((".apiVersion", ".kind")) else field["description"]
        )  # the server has its own words there
        answer = "".join(explained[path].split())
        assert "".join(own.split()) in answer and not answer.endswith("DESCRIPTION:"), path

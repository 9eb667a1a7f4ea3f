"""The session of docs/drydock/using.md, line by line, against the cluster that its first block starts."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from packages.mooring.tests.docs.session import ROOT, run_step, steps_of
from packages.mooring.tests.requirements import require_kubectl

pytestmark = pytest.mark.realtime

PAGE = "drydock/using.md"


def test_every_line_of_the_documented_session_works(tmp_path: Path) -> None:
    require_kubectl()
    [start] = re.findall(r"^(drydock up .*)$", (ROOT / "docs" / PAGE).read_text(), re.MULTILINE)
    steps = list(steps_of(PAGE))
    assert len(steps) == 6
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "KUBECONFIG": ".drydock/kubeconfig"}
    command = ["bash", "-c", f"exec {start}"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as cluster:
        try:
            assert cluster.stdout is not None
            assert cluster.stdout.readline().startswith("ready: https://127.0.0.1:")
            for step in steps:
                run_step(step, environment, tmp_path)
        finally:
            cluster.send_signal(signal.SIGINT)
            assert cluster.wait(30) == 0

"""The five minutes of the README, walked as written: the demo on a `mooring up`, and the drain under its queries."""

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import clean_environment, processes_of, running_up, until
from packages.mooring.tests.requirements import require_kubectl
from packages.mooring.tests.soak.stage import free_port
from postgres_gateway_tests.programs import require

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

ROOT = Path(__file__).parents[4]
README = Path(__file__).parents[2] / "README.md"
WITHIN_SECONDS = 300


def test_the_demo_serves_psql_and_a_drain_under_its_queries_loses_nothing(tmp_path):
    require_kubectl()
    psql = Path(require("psql"))
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    make, up_command, *walked = commands.splitlines()
    assert make == "make integrations" and up_command == ".venv/bin/mooring up --state .state &"
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    script = "\n".join(walked).replace("6432", str(free_port()))
    with running_up("--no-traffic") as up:
        (tmp_path / ".state").symlink_to(up.state)
        environment = {**clean_environment(), "PATH": f"{psql.parent}:{os.environ['PATH']}"}
        with open(tmp_path / "out", "wb") as out:
            walk = subprocess.Popen(
                ["sh", "-euc", script], cwd=tmp_path, env=environment, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        try:
            code = walk.wait(WITHIN_SECONDS)
            said = (tmp_path / "out").read_text()
            assert code == 0, said
            assert re.search(r"^ +42$", said, re.MULTILINE), said
            assert re.search(r"^[1-9]\d* queries returned the right rows, 0 failed$", said, re.MULTILINE), said
            assert not [node for node in up.objects("nodes") if node["spec"].get("unschedulable")]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(walk.pid, signal.SIGTERM)  # the gateway, which runs in the background
            until(lambda: not any("postgres" in line for line in processes_of(tmp_path).values()), 30, "it ends")

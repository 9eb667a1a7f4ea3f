"""The five minutes of the README, line by line, on a `mooring up` and on a free port."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import clean_environment, running_up
from packages.mooring.tests.requirements import require_kubectl

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

ROOT = Path(__file__).parents[4]
README = ROOT / "integrations" / "postgres-gateway" / "README.md"
WITHIN_SECONDS = 240


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def test_every_line_of_the_readme_works(tmp_path):
    require_kubectl()
    (block,) = re.findall(r"^```sh\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    make, up_line, ready, serve, query, drain = block.replace("6432", str(free_port())).splitlines()
    assert re.search(rf"^{make.removeprefix('make ')}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert up_line == ".venv/bin/mooring up --state .state &"
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    environment = {**clean_environment(), "PGCONNECT_TIMEOUT": "10"}

    def shell(line: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", line], cwd=tmp_path, env=environment, capture_output=True, text=True,
            timeout=WITHIN_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    with running_up("--no-traffic") as up:
        (tmp_path / ".state").symlink_to(up.state)
        shell(ready)
        with open(tmp_path / "gateway.log", "wb") as log:
            command = f"exec {serve.removesuffix('&')}"
            gateway = subprocess.Popen(
                ["bash", "-euc", command], cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        try:
            assert "42" in shell(query)
            assert re.search(r"[1-9]\d* queries returned the right rows, 0 failed", shell(drain))
        finally:
            os.killpg(gateway.pid, signal.SIGTERM)
            gateway.wait(60)

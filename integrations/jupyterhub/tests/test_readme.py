"""The five minutes of the README, walked as written: the demo on a `mooring up`, and the drain under a running cell."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import clean_environment, running_up
from packages.mooring.tests.requirements import require_hub_proxy, require_kubectl

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

ROOT = Path(__file__).parents[3]
README = Path(__file__).parents[1] / "README.md"
WITHIN_SECONDS = 240


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def without_numbers(text):
    return re.sub(r"\d+(\.\d+)?", "N", text)


def test_the_demo_starts_a_hub_and_a_drain_under_a_running_cell_loses_nothing(tmp_path):
    require_hub_proxy()
    require_kubectl()
    prepare, demo, drain = blocks("sh")
    (shown,) = blocks("text")
    make, install = prepare.splitlines()
    assert re.search(rf"^{make.removeprefix('make ')}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for name in (".venv", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = clean_environment()
    subprocess.run(["sh", "-euc", install], cwd=tmp_path, env=environment, check=True, timeout=WITHIN_SECONDS)
    with running_up("--no-traffic") as up:
        (tmp_path / ".state").symlink_to(up.state)
        hub = subprocess.Popen(
            ["sh", "-euc", f"exec {demo}"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            said = next(line for line in hub.stdout if line.startswith("JupyterHub is up at"))
            assert said.split(": ")[0] in README.read_text()
            done = subprocess.run(
                ["sh", "-euc", drain], cwd=tmp_path, env=environment, capture_output=True, text=True,
                timeout=WITHIN_SECONDS, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            assert without_numbers(done.stdout) == without_numbers(shown)
            assert not [node for node in up.objects("nodes") if node["spec"].get("unschedulable")]
        finally:
            os.killpg(hub.pid, signal.SIGINT)  # as a terminal does: to the whole group
            hub.wait(60)
            hub.stdout.close()

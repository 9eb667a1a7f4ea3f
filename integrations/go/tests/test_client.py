"""A client in Go, generated from the document of a live Mooring by the commands of the README."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import running_up
from packages.mooring.tests.requirements import require_go

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

FOLDER = Path(__file__).parents[1]
BUILD_SECONDS = 540  # of the generator, once on a machine


@pytest.fixture(scope="module")
def go():
    return require_go()


def blocks(language):
    """The code blocks of the README in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (FOLDER / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def test_the_readme_generates_a_client_that_claims_heartbeats_and_releases(go, tmp_path):
    (tmp_path / "integrations").mkdir()
    shutil.copytree(FOLDER, tmp_path / "integrations" / "go", ignore=shutil.ignore_patterns("tests", "*.gen.go"))
    (commands,) = blocks("sh")
    with running_up() as up:
        (tmp_path / ".state").symlink_to(up.state)
        path = f"{Path(go).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-euc", commands],
            cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=BUILD_SECONDS,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        claims = up.get("/v1/claims?owner=ada&limit=10")["items"]
    (claim,) = claims
    assert (claim["state"], claim["cause"]) == ("released", "released")
    shape = re.sub(r"\d+", "N", re.sub(r"claim \S+ is under", "claim ... is under", done.stdout))
    (shown,) = blocks("text")
    assert shape == re.sub(r"\d+", "N", shown)

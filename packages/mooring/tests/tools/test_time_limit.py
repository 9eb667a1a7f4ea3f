"""A test that waits for ever fails, and the tests after it run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
SUITE = """
import asyncio, subprocess

def test_of_a_silent_process():
    with subprocess.Popen(["sleep", "600"], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.read()
        finally:
            process.kill()

def test_of_a_loop():
    asyncio.run(asyncio.Event().wait())

def test_in_time():
    pass
"""

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


def test_a_test_that_waits_for_ever_fails_and_names_its_limit(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, "-p", "packages.testing.time_limit", "--time-limit", "1", str(tmp_path / "test_suite.py")],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert "2 failed, 1 passed" in run.stdout
    assert run.stdout.count("it took more than 1 s (--time-limit)") >= 2
    assert "process.stdout.read()" in run.stdout, "the traceback says what it waited for"

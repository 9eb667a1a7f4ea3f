"""A test run that is terminated stops what it has started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
SUITE = """
import asyncio, subprocess, time
import pytest

@pytest.fixture
def child():
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()

def test_in_a_thread(child):
    print(f"READY {child.pid}", flush=True)
    time.sleep(600)

def test_on_a_loop():
    async def hold():
        process = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
        try:
            print(f"READY {process.pid}", flush=True)
            await asyncio.sleep(600)
        finally:
            process.kill()
            await process.wait()
    asyncio.run(hold())
"""

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


@pytest.mark.parametrize("test", ["test_in_a_thread", "test_on_a_loop"])
def test_a_run_that_is_terminated_stops_what_it_has_started(tmp_path: Path, test: str) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    with subprocess.Popen(
        [*command, "-p", "packages.testing.interruption", f"{tmp_path}/test_suite.py::{test}"],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, text=True,
    ) as run:  # fmt: skip
        assert run.stdout is not None
        child = next(int(line.partition("READY ")[2]) for line in run.stdout if "READY " in line)
        run.terminate()
        run.wait(60)
        left = Path(f"/proc/{child}").exists()
        if left:
            os.kill(child, signal.SIGKILL)
    assert not left

"""`tools/again`: a second try for tests of real processes, after a run that came to its end."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
TESTS = """
import os, pathlib, pytest

@pytest.mark.realtime
def test_a_race():
    first = pathlib.Path("raced")
    if not first.exists():
        first.touch()
        raise AssertionError("it lost the race")

def test_in_virtual_time():
    assert "BROKEN" not in os.environ

@pytest.mark.realtime
def test_a_run_that_is_killed():
    if "KILLED" in os.environ:
        os._exit(137)
"""
SETTINGS = "[pytest]\nmarkers =\n    realtime: x\n    kubernetes: x\n    nodes: x\n    browser: x\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "again", tmp_path / "tools" / "again")
    program = tmp_path / ".venv" / "bin" / "pytest"
    program.parent.mkdir(parents=True)
    command = f'exec env PYTHONPATH={ROOT} {sys.executable} -m pytest -q -p packages.testing.completeness "$@"'
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    return tmp_path


def run(project: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, **environment}
    return subprocess.run([project / program], cwd=project, env=given, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_race_that_is_won_the_second_time_is_named(project: Path):
    assert run(project, ".venv/bin/pytest").returncode == 1
    again = run(project, "tools/again")
    assert again.returncode == 0, again.stderr
    assert again.stdout.rstrip().endswith("passed alone:\ntest_it.py::test_a_race")


@pytest.mark.slow
def test_a_test_in_virtual_time_gets_no_second_try(project: Path):
    assert run(project, ".venv/bin/pytest", BROKEN="yes").returncode == 1
    again = run(project, "tools/again")
    assert (again.returncode, again.stderr.strip()) == (1, "no second try")


@pytest.mark.slow
def test_a_run_that_was_killed_gets_no_second_try(project: Path):
    """Its list of failures is that of an earlier run, or of the part before the end."""
    assert run(project, ".venv/bin/pytest").returncode == 1
    assert run(project, ".venv/bin/pytest", KILLED="yes").returncode == 137
    again = run(project, "tools/again")
    assert again.returncode == 1
    assert "did not come to its end (exit status null)" in again.stderr


@pytest.mark.slow
def test_a_run_that_was_interrupted_gets_no_second_try(project: Path):
    (project / "conftest.py").write_text(
        "def pytest_runtest_logreport(report):\n    if report.failed:\n        raise KeyboardInterrupt\n"
    )
    assert run(project, ".venv/bin/pytest").returncode == 2
    again = run(project, "tools/again")
    assert again.returncode == 1
    assert "did not come to its end (exit status 2)" in again.stderr

"""The examples of the README run as they stand there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import drydock
from drydock.command import main

pytest_plugins = "pytester"

TEXT = (Path(__file__).parents[1] / "README.md").read_text()
_SECTION = re.compile(r"^## ([^\n]+)\n(?:(?!^## ).)*?```(?:python)?\n(.*?)```", re.DOTALL | re.MULTILINE)
EXAMPLES = dict(_SECTION.findall(TEXT))


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("heading", "printed"),
    [
        ("In virtual time", "Running after an hour, at 2026-03-01 01:00:00"),
        ("In real time", "2 nodes at https://127.0.0.1:"),
        ("Faults", "no answer, and yet it is there: a"),
    ],
)
def test_an_example_prints_what_it_promises(tmp_path: Path, heading: str, printed: str) -> None:
    argv = [sys.executable, "-c", EXAMPLES[heading]]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(printed)


def test_the_tests_of_the_example_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(EXAMPLES["In pytest"])
    pytester.runpytest_subprocess("-q", timeout=120).assert_outcomes(passed=2)


def test_the_commands_of_the_terminal_have_these_options(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.partition("#")[0] for line in EXAMPLES["In the terminal"].splitlines()]
    for line in lines:
        _, command, *options = shlex.split(line.replace("[", "").replace("]", ""))
        with pytest.raises(SystemExit):
            main([command, "--help"])
        told = capsys.readouterr().out
        assert [option for option in options if option.startswith("--") and option not in told] == []


def test_the_names_that_the_readme_uses_are_public() -> None:
    imported = re.findall(r"^from drydock import (.+)$", TEXT, re.MULTILINE)
    names = {name for line in imported for name in line.split(", ")}
    assert names <= set(dir(drydock))

"""Documented sessions of a terminal: lines of the form `command # -> part of what it prints`."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[4]
_LINE = re.compile(r"^(?P<command>\S.*?) # -> (?P<expected>.*)$")


class Step(NamedTuple):
    """One line of a session."""

    command: str
    expected: str


def steps_of(page: str) -> Iterator[Step]:
    """The steps of a page under docs/."""
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if found := _LINE.match(line):
            yield Step(found["command"], found["expected"])


def run_step(step: Step, environment: Mapping[str, str], folder: Path = ROOT) -> None:
    """Run one line in a shell; it must succeed and print what the page promises."""
    done = subprocess.run(
        step.command,
        shell=True,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{step.command}\n{done.stdout}{done.stderr}"
    assert step.expected in done.stdout, f"{step.command}\n{done.stdout}{done.stderr}"

"""One dock for all tests of the client: it takes a second to open."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner

from mooring.cli.main import app
from packages.mooring.tests.client.dock import TOKEN, Dock


@pytest.fixture(scope="session")
def dock() -> Iterator[Dock]:
    with Dock() as opened:
        yield opened


@pytest.fixture
def environment(dock: Dock) -> dict[str, str]:
    """Of commands that speak to the dock, without colours."""
    basic = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return {**basic, "MOORING_URL": dock.url, "MOORING_TOKEN": TOKEN, "NO_COLOR": "1"}


@pytest.fixture
def mooring(environment: dict[str, str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command within this process: exit code, stdout, stderr."""

    def run(*arguments: str, typed: str | None = None) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, arguments, env=environment, input=typed)
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def spawn(environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a Python process; whatever still runs at the end is killed."""
    started = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, *arguments], env=environment, text=True, **pipes)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()

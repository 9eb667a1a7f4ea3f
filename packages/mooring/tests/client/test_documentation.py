"""Every Python example of these pages runs unchanged against a Mooring behind a real port."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mooring import client
from mooring.model.errors import MooringError
from packages.mooring.tests.client.dock import TOKEN, Dock

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "docs" / "reference" / "sdk.md").read_text()
PAGES = (
    "README.md",
    "docs/reference/sdk.md",
    "docs/how-to/runners.md",
    "docs/how-to/queries.md",
    "packages/mooring/README.md",
)
EXAMPLES = {
    f"{page}:{number}": example
    for page in PAGES
    for number, example in enumerate(
        re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    )
    if ".exec(" not in example  # tests/cli/test_pod_commands.py runs it, where pods are processes
}


@pytest.fixture(scope="module")
def documented(dock: Dock, tmp_path_factory):
    """The pools that the examples speak of, and a worker that polls."""
    dock.pool("linux", warm=2, max=2)
    dock.pool("duck")
    jobs = dock.pool("jobs", dispatch="Poll")
    token_file = tmp_path_factory.mktemp("agent") / "token"
    token_file.write_text(dock.worker_token(dock.pods(jobs)[0].metadata.name))
    agent = subprocess.Popen(
        [sys.executable, "-m", "mooring.client.worker", "--url", dock.url, "--token-file", str(token_file)],
        env={**os.environ, "POD_IP": "127.64.9.2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield dock
    agent.kill()
    agent.wait()


def test_every_documented_error_comes_from_the_sdk_itself():
    errors = re.findall(r"^\| `([A-Z]\w+)` \|", TEXT, re.MULTILINE)
    assert {"ClaimTimeout", "LimitReached", "LeaseLost", "Unavailable"} <= set(errors)
    for name in errors:
        assert issubclass(getattr(client, name), MooringError)
    assert {name for name in client.__all__ if getattr(client, name).__name__ != name} == set()


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("place", EXAMPLES)
def test_an_example_runs_and_leaves_nothing_claimed(documented, place, monkeypatch, capsys):
    monkeypatch.setenv("MOORING_URL", documented.url)
    monkeypatch.setenv("MOORING_TOKEN", TOKEN)
    exec(compile(EXAMPLES[place], place, "exec"), {"__name__": "example"})
    assert capsys.readouterr().out.strip(), "an example shows something"
    assert [documented.open_claims(f"runners/{pool}") for pool in ("linux", "duck", "jobs")] == [0, 0, 0]

"""`mooring login` and `mooring whoami`."""

import hashlib
import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mooring.cli.main import app
from mooring.client.login_file import login_path, read_login
from packages.mooring.tests.client.dock import TOKEN


@pytest.fixture(autouse=True)
def own_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("MOORING_URL", raising=False)
    monkeypatch.delenv("MOORING_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run():
    """Run a command: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, arguments, env={"NO_COLOR": "1"})
        return result.exit_code, result.stdout, result.stderr

    return run


def test_a_login_is_checked_and_stored_and_then_used(dock, run, tmp_path):
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    code, output, _ = run("login", "--url", dock.url, "--token-file", str(tmp_path / "token"))
    assert code == 0 and "as operator" in output and TOKEN not in output
    assert stat.S_IMODE(login_path().stat().st_mode) == 0o600
    code, output, _ = run("whoami", "-o", "json")
    caller = json.loads(output)
    assert code == 0 and (caller["user"], caller["via"], caller["owner"]) == ("operator", "operator", "operator")
    code, output, _ = run("whoami")
    assert "user:       operator (operator)" in output
    code, output, _ = run("login", "--forget")
    assert code == 0 and read_login() is None


def test_a_wrong_token_is_not_stored(dock, run, tmp_path):
    (tmp_path / "token").write_text("wrong\n")
    code, _, errors = run("login", "--url", dock.url, "--token-file", str(tmp_path / "token"))
    assert code == 4 and "unauthorized" in errors and read_login() is None


def test_a_new_static_token_is_printed_with_the_hash_that_makes_it_valid(run):
    code, output, _ = run("login", "--new-token", "ci", "--user", "ci-bot", "--group", "builders")
    token = output.splitlines()[0].removeprefix("token: ")
    entry = json.loads(output.splitlines()[2].removeprefix("- "))
    assert code == 0 and len(token) == 64
    assert entry == {
        "name": "ci",
        "user": "ci-bot",
        "groups": ["builders"],
        "sha256": [hashlib.sha256(token.encode()).hexdigest()],
    }

"""Settings and payloads that are wrong are named; secrets are not shown."""

from pathlib import Path

import pytest

from mooring.model.errors import InvalidInput
from mooring_github_actions.pools import choose_pool, parse_rules
from mooring_github_actions.runner import read_command
from mooring_github_actions.settings import read_settings

from ..demo.fake_github import FakeGitHub  # type: ignore[import-not-found]

PREFIX = "MOORING_GITHUB_"


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    for name, content in (("key", FakeGitHub().pem), ("webhook", b"hush\n"), ("mint", b"token\n")):
        (tmp_path / name).write_bytes(content)
    values = {
        "APP": "12345",
        "INSTALLATION": "678",
        "PRIVATE_KEY_FILE": str(tmp_path / "key"),
        "WEBHOOK_SECRET_FILE": str(tmp_path / "webhook"),
        "MINT_TOKEN_FILE": str(tmp_path / "mint"),
        "POOLS": "ci/linux=self-hosted,Linux",
    }
    return {PREFIX + name: value for name, value in values.items()}


def test_six_settings_are_enough(variables: dict[str, str]) -> None:
    settings = read_settings(variables)
    assert settings.secrets.webhook == b"hush" and settings.secrets.mint_token == "token"
    assert settings.policy.rules == parse_rules("ci/linux=self-hosted,linux")
    assert settings.installation.api == "https://api.github.com"
    assert "hush" not in repr(settings) and "token" not in repr(settings.secrets)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("APP", ""),
        ("INSTALLATION", "x"),
        ("POOLS", "linux"),
        ("POOLS", "ci/linux="),
        ("PRIVATE_KEY_FILE", "/nowhere"),
        ("WEBHOOK_SECRET_FILE", ""),
        ("MINT_TOKEN_FILE", ""),
        ("LOOK", "soon"),
        ("PORT", "http"),
    ],
)
def test_a_setting_that_is_wrong_is_named(variables: dict[str, str], name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=PREFIX + name):
        read_settings({**variables, PREFIX + name: value})


def test_a_job_goes_to_the_first_pool_whose_runners_have_all_of_its_labels() -> None:
    rules = parse_rules("ci/linux=self-hosted,linux; ci/gpu=self-hosted,linux,gpu")
    chosen = [choose_pool(labels, rules) for labels in (("linux",), ("gpu", "linux"), ("macos",), ())]
    assert [rule.pool if rule else None for rule in chosen] == ["ci/linux", "ci/gpu", None, None]


def test_the_runner_is_started_with_the_configuration_of_the_mint(tmp_path: Path) -> None:
    environment = {"ACTIONS_RUNNER_DIR": str(tmp_path)}
    with pytest.raises(InvalidInput, match="ACTIONS_RUNNER_DIR"):
        read_command({"jitconfig": "abc"}, environment)
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    assert read_command({"jitconfig": "abc"}, environment) == [str(tmp_path / "run.sh"), "--jitconfig", "abc"]
    for payload in (None, {}, {"jitconfig": 7}):
        with pytest.raises(InvalidInput, match=r"payload\.jitconfig"):
            read_command(payload, environment)

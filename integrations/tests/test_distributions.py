"""The integrations are released with Mooring, and each requires exactly that version of it."""

import tomllib
from pathlib import Path

import pytest

from mooring import __version__

PROJECTS = sorted(Path(__file__).parents[1].glob("*/pyproject.toml"))


@pytest.mark.parametrize("file", PROJECTS, ids=lambda file: file.parent.name)
def test_an_integration_has_the_version_of_mooring_and_requires_it(file: Path) -> None:
    project = tomllib.loads(file.read_text())["project"]
    assert project["version"] == __version__
    ours = [one for one in project["dependencies"] if one.startswith("kube-")]
    assert ours == [f"kube-mooring=={__version__}"]


def test_all_integrations_with_a_distribution_are_looked_at() -> None:
    assert len(PROJECTS) == 5

"""The figures and timelines in docs/incidents are those of a run."""

import importlib
from pathlib import Path

import pytest

from mooring.incidents.catalogue import INCIDENTS
from mooring.incidents.incident import Incident
from mooring.incidents.replay import Outcome
from mooring.incidents.timeline import compute_blocks
from packages.mooring.tests.incidents.halves import play_half

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "docs" / "incidents"


@pytest.mark.slow
@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda incident: incident.name)
def test_the_documented_story_comes_from_a_run(incident: Incident):
    without, protected = (play_half(type(incident), protected=protected, seed=1) for protected in (False, True))
    outcome = Outcome(incident.name, without.figures, protected.figures)
    text = (FOLDER / f"{incident.name}.md").read_text()
    for name, block in compute_blocks(outcome, without.timeline, protected.timeline).items():
        documented = text.partition(f"<!-- {name} -->")[2].partition("<!-- end -->")[0]
        assert documented.strip() == block, "run tools/replays"


@pytest.mark.slow
def test_the_moving_picture_comes_from_a_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    drawn = importlib.import_module("picturing.roll").draw_roll()
    assert (ROOT / "docs" / "images" / "roll.svg").read_text() == drawn, "run tools/replays"

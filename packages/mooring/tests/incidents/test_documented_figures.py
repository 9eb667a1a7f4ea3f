"""The figures in docs/incidents/README.md are those of a run."""

from pathlib import Path

import pytest

from mooring.incidents.catalogue import INCIDENTS
from mooring.incidents.incident import Incident
from mooring.incidents.replay import Outcome
from mooring.incidents.table import as_markdown
from packages.mooring.tests.incidents.halves import play_half

DOCUMENT = Path(__file__).parents[4] / "docs" / "incidents" / "README.md"


@pytest.mark.slow
@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda incident: incident.name)
def test_the_documented_figures_come_from_a_run(incident: Incident):
    without, protected = (play_half(type(incident), protected=protected, seed=1) for protected in (False, True))
    outcome = Outcome(incident.name, without.figures, protected.figures)
    block = DOCUMENT.read_text().partition(f"<!-- figures of {incident.name} -->")[2].partition("<!-- end -->")[0]
    assert block.strip() == as_markdown(outcome), "run tools/replays"

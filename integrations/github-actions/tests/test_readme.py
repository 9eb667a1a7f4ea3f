"""The five minutes of the README, line by line, as a newcomer types them."""

import os
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import MOORING, Up
from packages.mooring.tests.docs.session import ROOT, run_step, steps_of

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


def test_every_line_of_the_readme_works(up: Up, tmp_path: Path) -> None:
    steps = list(steps_of("../integrations/github-actions/README.md"))
    assert len(steps) == 2
    (tmp_path / ".state").symlink_to(up.state)
    path = f"{Path(MOORING).parent}:{os.environ['PATH']}"
    for step in steps:
        run_step(step, {"PATH": path, "PYTHONPATH": str(ROOT)}, tmp_path)

"""The five minutes of the README, line by line, as a newcomer types them."""

import os
from pathlib import Path

import pytest
from buildbot.plugins import util

from mooring_buildbot import MooringLatentWorker
from packages.mooring.tests.acceptance.world import MOORING, Up
from packages.mooring.tests.docs.blocks import blocks
from packages.mooring.tests.docs.session import ROOT, run_step, steps_of

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


def test_every_line_of_the_readme_works(up: Up, tmp_path: Path) -> None:
    steps = list(steps_of("../integrations/buildbot/README.md"))
    assert len(steps) == 2
    (tmp_path / ".state").symlink_to(up.state)
    path = f"{Path(MOORING).parent}:{os.environ['PATH']}"
    for step in steps:
        run_step(step, {"PATH": path, "PYTHONPATH": str(ROOT)}, tmp_path)


def test_the_lines_for_master_cfg_make_workers_and_a_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOORING_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("MOORING_TOKEN", "t")
    [block] = [block for block in blocks("python") if block.page == "integrations/buildbot/README.md"]
    config: dict[str, list[object]] = {}
    exec(block.text, {"c": config, "util": util, "factory": util.BuildFactory()})
    assert len(config["workers"]) == 8 and all(isinstance(one, MooringLatentWorker) for one in config["workers"])
    assert len(config["builders"]) == 1

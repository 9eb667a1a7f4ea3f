"""The tutorial of docs/tutorial/first-pool.md, line by line, as a newcomer types it."""

import os
from pathlib import Path

from packages.mooring.tests.acceptance.world import MOORING, Up
from packages.mooring.tests.docs.session import ROOT, run_step, steps_of
from packages.mooring.tests.requirements import require_kubectl


def test_every_line_of_the_tutorial_works_and_the_demo_is_as_it_was(up: Up, tmp_path: Path) -> None:
    require_kubectl()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / ".state").symlink_to(up.state)
    path = f"{Path(MOORING).parent}:{os.environ['PATH']}"
    environment = {"KUBECONFIG": str(up.kubeconfig), "PATH": path, "COLUMNS": "160"}  # narrow terminals cut texts
    steps = list(steps_of("tutorial/first-pool.md"))
    assert len(steps) > 20
    pools = {(pool["namespace"], pool["name"]) for pool in up.get("/v1/pools")["items"]}
    try:
        for step in steps:
            run_step(step, environment, tmp_path)
    except BaseException:
        (tmp_path / "done").touch()  # ends the session in the background
        raise
    assert {(pool["namespace"], pool["name"]) for pool in up.get("/v1/pools")["items"]} == pools
    assert not [node for node in up.get("/v1/nodes")["items"] if node["draining"]]
    assert {entry.name for entry in tmp_path.iterdir()} == {"examples", ".state"}

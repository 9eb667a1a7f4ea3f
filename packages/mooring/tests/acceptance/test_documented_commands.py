"""The commands of the README's tour and of pages without a test of their own, line by line on a `mooring up`."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import MOORING, Up, running_up, until
from packages.mooring.tests.docs.blocks import blocks
from packages.mooring.tests.docs.session import Step, run_step
from packages.mooring.tests.requirements import require_kubectl

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

# What a reader sees, by the beginning of the line.
EXPECTED = {
    "mooring pools": "at least 8 idle",
    "mooring workers --watch": "ready and waiting for a claim",
    "mooring audit -o wide": "cluster: the node is cordoned (work-01)",
    "kubectl drain work-02": "drained",
    "mooring invariants": "warm-floor",
    "mooring pause": "paused: it will not act until resumed",
    "mooring resume": "resumed",
    "mooring claim queries/duck": "MOORING_WORKER_ADDRESS=127.64.",
    "mooring warmups": "harbour-log",
    "mooring submissions": "first-search",
    "mooring services": "every replica is ready",
    "mooring drain-check work-03": "work-03: ",
    "mooring doctor": " fail, ",
    "mooring replay leaked-stamps -o json": '"outage": true',
    "mooring replay leaked-stamps": "still stamped",
    "mooring replay": "busy for ever",
    "mooring arm": "is armed already",
    "mooring adopt": "pod/before adopted: it counts as busy",
}
LATER = ("mooring audit",)  # a reader looks again until it is there
OLD_WORKER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "before", "namespace": "runners", "labels": {"app": "runner"}},
    "spec": {
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "worker", "image": "sleep", "command": ["sleep", "infinity"]}],
    },
}


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    require_kubectl()
    with running_up("--no-traffic") as up:
        up.until_settled("runners/linux", 8)
        up.until_settled("queries/duck", 4)
        yield up


def steps_of(page: str) -> Iterator[Step]:
    """The commands of a page in their order; Ctrl-C ends those that watch."""
    for block in blocks("sh"):
        for line in block.text.replace("\\\n", " ").splitlines() if block.page == page else ():
            command = re.split(r"\s+# ", line)[0].strip()
            if command.startswith(("mooring ", "kubectl ")):
                expected = next((text for begin, text in EXPECTED.items() if command.startswith(begin)), "")
                if command.endswith(" --watch"):
                    command = f"timeout -s INT 5 {command} || test $? = 124"
                yield Step(command, expected)


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("README.md", 19),
        ("docs/concepts/invariants.md", 3),
        ("docs/concepts/ledger.md", 1),
        ("docs/how-to/adopt.md", 2),
        ("docs/incidents/README.md", 4),
    ],
)
def test_every_command_of_the_page_works_and_the_demo_is_as_it_was(
    up: Up, tmp_path: Path, page: str, count: int
) -> None:
    (tmp_path / ".state").symlink_to(up.state)
    path = f"{Path(MOORING).parent}:{os.environ['PATH']}"
    environment = {"KUBECONFIG": str(up.kubeconfig), "PATH": path, "COLUMNS": "250"}  # narrow terminals cut texts
    if "adopt" in page:
        up.kubectl("apply", "-f", "-", body=OLD_WORKER)
        up.kubectl("-n", "runners", "wait", "--for=condition=Ready", "pod/before", "--timeout=60s")
    steps = list(steps_of(page))
    assert len(steps) >= count
    for step in steps:
        if step.command.startswith(LATER):
            until(lambda step=step: step.expected in up.command(*step.command.split()[1:]).out, 30, step.command)
        run_step(step, environment, tmp_path)

    assert up.pool("runners/linux")["spec"]["warm"] == 8
    assert not [node["metadata"]["name"] for node in up.objects("nodes") if node["spec"].get("unschedulable")]
    assert not [one["id"] for one in up.get("/v1/invariants")["items"] if one["state"] == "paused"]

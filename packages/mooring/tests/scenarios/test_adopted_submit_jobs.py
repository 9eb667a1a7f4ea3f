"""Older Jobs of another tool, adopted by a Submission: cleaned up like leftovers, never while they may run."""

from typing import Any

import pytest

from hawser.resources import JOBS
from mooring.ledger.records import AuditFilter
from mooring.model.errors import InvalidInput
from mooring.model.submission import job_name
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour
from packages.mooring.tests.scenarios.submits import spec, submit, until_phase

SELECTOR = "app in (blast,submit,setup,finalizer)"
ADOPT = {"adopt": {"selector": SELECTOR}}


async def older_job(world: Harbour, name: str, app: str, seconds: float = 5, **pod: Any) -> None:
    script = {"drydock.dev/script": f'{{"runs": [{{"runSeconds": {seconds}}}]}}'}
    containers = [{"name": "old", "image": "old", "command": ["sleep", "5"]}]
    template = {
        "metadata": {"annotations": script},
        "spec": {"restartPolicy": "Never", "containers": containers, **pod},
    }
    meta = {"name": name, "labels": {"app": app}}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}
    await world.client.create(JOBS, body, NAMESPACE)


async def older(world: Harbour) -> set[str]:
    return {job.metadata.name for job in (await world.client.list(JOBS, NAMESPACE, label_selector="app")).items}


async def audited(world: Harbour) -> dict[str, dict[str, Any]]:
    page = await world.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Job"), 50, None)
    return {one.entry.subject.name: one.entry.evidence for one in page.items if "adopted" in one.entry.evidence}


async def test_older_jobs_that_ended_are_gone_before_the_first_job_is_made(world):
    replica = world.start()
    for name in ("setup", "submit", "finalizer"):
        await older_job(world, f"old-{name}", name)
    await older_job(world, "unrelated", "web")
    await world.clock.sleep(120)
    await submit(replica, spec(**ADOPT))
    await until_phase(world, "Running")
    assert await older(world) == {"unrelated"}
    assert set(await audited(world)) == {"old-setup", "old-submit", "old-finalizer"}


async def test_without_adopt_no_job_of_another_tool_is_touched(world):
    replica = world.start()
    await older_job(world, "old-setup", "setup")
    await world.clock.sleep(120)
    await submit(replica, spec())
    await until_phase(world, "Succeeded")
    assert await older(world) == {"old-setup"}


async def test_while_a_job_that_matches_runs_nothing_is_deleted_and_the_submit_goes_on(world):
    replica = world.start()
    await older_job(world, "old-setup", "setup")
    await older_job(world, "old-blast", "blast", seconds=200)
    await world.clock.sleep(100)
    await submit(replica, spec(**ADOPT))
    found = await until_phase(world, "Running")
    rows = {row.name: (row.state, row.why) for row in found.status.adoption.jobs}
    assert rows["old-blast"] == ("kept", "it has not finished")
    assert rows["old-setup"][0] == "kept" and "old-blast" in rows["old-setup"][1]
    await until_phase(world, "Succeeded")
    assert await older(world) == {"old-setup", "old-blast"}, "the submission has ended, and adopts nothing more"


async def test_an_older_job_that_waits_for_a_node_that_is_gone_is_deleted(world):
    replica = world.start()
    await older_job(world, "old-stuck", "blast", nodeSelector={"kubernetes.io/hostname": "node-of-last-year"})
    await older_job(world, "old-waits", "blast", nodeSelector={"disk": "none-has-this"})
    await world.clock.sleep(120)
    await submit(replica, spec(**ADOPT))
    found = await until_phase(world, "Running")
    assert await older(world) == {"old-waits"}
    rows = {row.name: row.state for row in found.status.adoption.jobs}
    assert rows == {"old-stuck": "deleted", "old-waits": "kept"}


async def test_an_ended_job_with_the_name_of_a_new_one_makes_room_instead_of_refusing_the_submit(world):
    replica = world.start()
    await older_job(world, job_name("night-1", "setup"), "setup")
    await world.clock.sleep(120)
    await submit(replica, spec(**ADOPT))
    await until_phase(world, "Succeeded")


async def test_a_job_that_ended_just_now_is_left_to_its_maker(world):
    replica = world.start()
    await older_job(world, "old-setup", "setup", seconds=5)
    await world.clock.sleep(20)
    await submit(replica, spec(**ADOPT))
    await until_phase(world, "Running")
    assert await older(world) == {"old-setup"}


async def test_with_the_invariant_paused_the_submit_goes_on_and_the_jobs_stay(world):
    replica = world.start()
    await older_job(world, "old-setup", "setup")
    await world.clock.sleep(120)
    await world.pause(["leftover-jobs"])
    await submit(replica, spec(**ADOPT))
    await until_phase(world, "Succeeded")
    assert await older(world) == {"old-setup"} and await audited(world) == {}


@pytest.mark.parametrize("selector", ["!app", "app!=web", "app=a,,"])
async def test_a_selector_without_a_required_label_is_refused(world, selector):
    replica = world.start()
    with pytest.raises(InvalidInput, match=r"spec\.adopt\.selector"):
        await submit(replica, spec(adopt={"selector": selector}))

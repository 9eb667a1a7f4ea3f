"""half-finished-submit.

Leftover Jobs that cannot be overwritten, and a quote that breaks generated text a minute later.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from drydock import ContainerRun, Script
from hawser.resources import JOBS
from hawser.views import Job
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.older_jobs import make_older_job, older_jobs
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.kinds.resources import SUBMISSIONS
from mooring.model.adoption import Adopt
from mooring.model.errors import InvalidInput
from mooring.model.names import STEP, SUBMISSION
from mooring.model.submission import Step, SubmissionSpec, job_name, name_for

KEYS = tuple(f"core-nt-{number}" for number in range(8))
ADOPTING = "core-nt-8"  # under its names are Jobs of an older tool, which it adopts
OLDER = "app in (blast,submit,setup,finalizer)"
NEIGHBOUR = "nightly"
STRANGER = "core-nt-9"  # names a ServiceAccount that does not exist
QUOTED = '"7 std staxids ssciname"'
TOKENS = ("7", "std", "staxids", "ssciname")
OLD_SETUP_SECONDS = 60.0
WATCHED_SECONDS = 3600.0
_LOOK_SECONDS = 2.0
_ACCOUNT_LOOK_SECONDS = 0.1
_REFUSED_WITHIN_SECONDS = 60.0


class HalfFinishedSubmit(Incident):
    """Eight submits of an earlier version stopped half way; the same work is submitted again, eight at once."""

    name = "half-finished-submit"
    title = "leftovers that cannot be overwritten"
    story = (
        "An earlier version put its manifests together as text. A quote in outfmt broke them inside the cluster, a "
        "minute after the setups had begun. Their Jobs are left, and a Job's template can never be changed."
    )
    protections = ("leftover-jobs",)

    def script(self, run: ContainerRun) -> Script | None:
        step = run.pod["metadata"]["labels"].get(STEP, "")
        return Script() if run.container == "old" or step == "long" else None

    async def play(self, stage: Stage, protected: bool) -> Figures:
        stage.start()
        seen = Seen()
        stage.gauges["succeeded"] = lambda: f"{len(seen.succeeded)} of {len(KEYS)}"
        await _start_neighbour(stage, seen)
        await make_older_job(stage, job_name(ADOPTING, "setup"), {"app": "setup"}, {})
        await make_older_job(stage, job_name(ADOPTING, "batch-0"), {"app": "blast"}, {})
        await asyncio.gather(*(_submit_the_old_way(stage, key, seen) for key in KEYS))
        there = sum(STEP not in job.metadata.labels for job in await _jobs(stage))
        stage.narrate(f"{seen.leftovers} Jobs were made, half of what there should be; {there} of them are still there")
        await _submit_with_a_quote(stage, seen)
        await _submit_again(stage, seen)
        started = stage.seconds
        while stage.seconds - started < WATCHED_SECONDS and len(seen.succeeded) <= len(KEYS):
            await _look(stage, seen, stage.seconds - started)
            await stage.clock.sleep(_LOOK_SECONDS)
        await _submit_without_account(stage, seen)
        return await _measure(stage, seen)


@dataclass(slots=True)
class Seen:
    """The observations of the play."""

    leftovers: int = 0
    old_way_broke_after: float | None = None
    quote_refused_after: float | None = None
    jobs_for_the_quote: int = 0
    account_refused_after: float | None = None
    succeeded: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    neighbour: set[str] = field(default_factory=set)  # uids of its Jobs


def _order(key: str, outfmt: str | tuple[str, ...]) -> SubmissionSpec:
    batches = (Step(args=("-query", "q0.fa")), Step(args=("-query", "q1.fa")))
    return SubmissionSpec(
        key=key, program="blastn", options={"-outfmt": outfmt}, setup=Step(), batches=batches, finalizer=Step()
    )


async def _start_neighbour(stage: Stage, seen: Seen) -> None:
    """Another submission, which runs all the time."""
    order = SubmissionSpec(key=NEIGHBOUR, program="blastn", batches=(Step(name="long"),))
    await stage.replicas[-1].mooring.submissions.commands.submit(NAMESPACE, order, actor="ann")
    while not (running := [job for job in await _jobs(stage) if job.status.ready]):
        await stage.clock.sleep(_LOOK_SECONDS)
    seen.neighbour = {job.metadata.uid for job in running}
    stage.narrate("a neighbour's submission runs")


async def _submit_the_old_way(stage: Stage, key: str, seen: Seen) -> None:
    """The setup and a batch are created; then the text of the remaining manifests is generated and cannot be parsed."""
    started = stage.seconds
    for step in ("setup", "batch-0"):
        await _leave(stage, job_name(key, step))
        seen.leftovers += 1
    await stage.clock.sleep(OLD_SETUP_SECONDS)
    try:
        yaml.safe_load(f'args: ["-outfmt", "{QUOTED}"]')
    except yaml.YAMLError:
        if seen.old_way_broke_after is None:
            seen.old_way_broke_after = round(stage.seconds - started, 1)
            stage.narrate(f"the manifests of the other steps cannot be read: outfmt is {QUOTED}")


async def _leave(stage: Stage, name: str) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "old", "image": "blast:old"}]}
    metadata = {"name": name, "labels": {SUBMISSION: "an-earlier-one"}}
    body: dict[str, Any] = {"metadata": metadata, "spec": {"template": {"spec": pod}}}
    await stage.client.create(JOBS, body, NAMESPACE)


async def _submit_with_a_quote(stage: Stage, seen: Seen) -> None:
    before, started = len(await _jobs(stage)), stage.seconds
    try:
        await stage.replicas[-1].mooring.submissions.commands.submit(NAMESPACE, _order(KEYS[0], QUOTED), actor="ann")
    except InvalidInput as refusal:
        seen.quote_refused_after = round(stage.seconds - started, 1)
        seen.jobs_for_the_quote = max(len(await _jobs(stage)) - before, 0)
        stage.narrate(f"refused at once: {refusal.message}")


async def _submit_again(stage: Stage, seen: Seen) -> None:
    """Submit the same work, with tokens, all at the same time."""
    desk = stage.replicas[-1].mooring.submissions.commands
    adopting = msgspec.structs.replace(_order(ADOPTING, TOKENS), adopt=Adopt(OLDER))
    orders = [*(_order(key, TOKENS) for key in KEYS), adopting]
    await asyncio.gather(*(desk.submit(NAMESPACE, order, actor="ann") for order in orders))
    stage.narrate(f"{len(KEYS)} submits at once, under the names of the leftovers, and one that adopts Jobs of a tool")


async def _submit_without_account(stage: Stage, seen: Seen) -> None:
    """Its Jobs would wait for pods that nobody can make, and block the next submit."""
    order = msgspec.structs.replace(_order(STRANGER, TOKENS), service_account="missing")
    await stage.replicas[-1].mooring.submissions.commands.submit(NAMESPACE, order, actor="ann")
    started = stage.seconds
    while stage.seconds - started < _REFUSED_WITHIN_SECONDS:
        status = (await stage.client.get(SUBMISSIONS, name_for(STRANGER), NAMESPACE)).status
        if status.phase == "Refused":
            seen.account_refused_after = round(stage.seconds - started, 1)
            stage.narrate(f"{STRANGER} is refused: {status.message}")
            return
        await stage.clock.sleep(_ACCOUNT_LOOK_SECONDS)


async def _look(stage: Stage, seen: Seen, now: float) -> None:
    for key in (*KEYS, ADOPTING):
        status = (await stage.client.get(SUBMISSIONS, name_for(key), NAMESPACE)).status
        if status.phase == "Succeeded" and key not in seen.succeeded:
            seen.succeeded[key] = now
            stage.narrate(f"{key} has succeeded, {now:.0f} s after it was submitted")
        elif "leftover" in status.message and not seen.reason:
            seen.reason = status.message
            stage.narrate(f"{key} waits: {status.message}")


async def _measure(stage: Stage, seen: Seen) -> Figures:
    jobs = await _jobs(stage)
    alive = {job.metadata.uid for job in jobs if not job.terminating}
    return Figures(
        outage=len(seen.succeeded) <= len(KEYS),
        measured={
            "leftoverJobs": seen.leftovers,
            "leftoversStillThere": sum(STEP not in job.metadata.labels for job in jobs),
            "oldWayBrokeAfterSeconds": seen.old_way_broke_after,
            "quoteRefusedAfterSeconds": seen.quote_refused_after,
            "jobsMadeForTheQuote": seen.jobs_for_the_quote,
            "missingAccountRefusedAfterSeconds": seen.account_refused_after,
            "jobsMadeForTheMissingAccount": sum(job.metadata.name.startswith(name_for(STRANGER)) for job in jobs),
            "submits": len(KEYS),
            "submitsSucceeded": sum(key in seen.succeeded for key in KEYS),
            "adoptedJobs": 2,
            "adoptedJobsStillThere": len(await older_jobs(stage, OLDER)),
            "adoptingSubmitSucceeded": ADOPTING in seen.succeeded,
            "lastSucceededAfterSeconds": round(max(seen.succeeded.values()), 1) if seen.succeeded else None,
            "neighbourJobsKilled": len(seen.neighbour - alive),
            "reason": seen.reason,
        },
    )


async def _jobs(stage: Stage) -> list[Job]:
    return (await stage.client.list(JOBS, NAMESPACE, label_selector=SUBMISSION)).items

"""Small datasets for planner tests, and a cluster that does what a plan says."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

from mooring.model.node import Node
from mooring.model.warm_job import WarmJob, WarmPod
from mooring.model.warmup import Warmup, WarmupSpec, WarmupStatus
from mooring.planning.warmups.jobs import job_name, order_hash
from mooring.planning.warmups.nodes import since_outside, survey_nodes, with_outside
from mooring.planning.warmups.plan import CreateJob, WarmupPlan, WarmupSnapshot, plan_warmup

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GIB = 1024**3


def dataset(**spec: object) -> Warmup:
    """Created ten minutes ago, with permissions that have arrived."""
    wanted = {"dataset": "nt", "shards": 3, "image": "fetcher", "command": ["fetch"], **spec}
    return Warmup("bio", "nt", "warmup-uid", 1, NOW - timedelta(minutes=10), msgspec.convert(wanted, WarmupSpec))


def nodes(count: int, prefix: str = "node", **changes: object) -> dict[str, Node]:
    """Ready nodes of 64 GiB."""
    names = [f"{prefix}-{number}" for number in range(count)]
    base = Node("", "", allocatable={"memory": 64 * GIB})
    return {name: replace(base, name=name, uid=f"{name}-uid", **changes) for name in names}  # type: ignore[arg-type]


def job(warmup: Warmup, shard: int, on: Node, **changes: object) -> WarmJob:
    """The Job that the Warmup would make, done."""
    made = WarmJob(
        namespace=warmup.namespace,
        name=job_name(warmup.spec.dataset, shard),
        uid=f"job-{shard}-{on.uid}",
        resource_version="7",
        created_at=NOW - timedelta(minutes=5),
        node=on.name,
        owner_uid=warmup.uid,
        shard=shard,
        node_uid=on.uid,
        generation=str(warmup.spec.generation),
        spec_hash=order_hash(warmup.spec),
        round=warmup.round,
        complete=True,
        finished_at=NOW - timedelta(minutes=1),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def pod(of: WarmJob, **changes: object) -> WarmPod:
    made = WarmPod(of.namespace, f"{of.name}-x", f"pod-{of.uid}", of.uid, NOW, container="fetch", running=True)
    return replace(made, **changes)  # type: ignore[arg-type]


def snapshot(
    warmup: Warmup,
    on: Mapping[str, Node],
    *jobs: WarmJob,
    now: datetime = NOW,
    unfit_since: Mapping[str, datetime] = {},
    **changes: object,
) -> WarmupSnapshot:
    survey = survey_nodes(warmup.spec, on, unfit_since, now)
    return replace(WarmupSnapshot(warmup, survey, jobs), **changes)  # type: ignore[arg-type]


def released(plan: WarmupPlan) -> dict[str, str]:
    return {release.job.name: release.staleness.value for release in plan.releases}


def created(plan: WarmupPlan) -> dict[int, str]:
    return {create.shard: create.node.name for create in plan.creates}


class Cluster:
    """Does what plans say, at once: Jobs that are made are done when the next second begins."""

    def __init__(self, warmup: Warmup, on: Mapping[str, Node]) -> None:
        self.warmup = warmup
        self.nodes = dict(on)
        self.jobs: dict[str, WarmJob] = {}
        self.now = NOW
        self.made: list[CreateJob] = []
        self.least_warm: int | None = None
        self.unfit_since: dict[str, datetime] = {}
        self._outside: dict[str, datetime] = {}
        self._serial = 0

    def step(self, seconds: float = 1.0) -> WarmupPlan:
        """One pass, and its effects."""
        plan = self.plan()
        status = plan.status
        self.warmup = msgspec.structs.replace(self.warmup, status=status)
        warm = sum(bool(shard.warm) for shard in status.shards)
        self.least_warm = warm if self.least_warm is None else min(self.least_warm, warm)
        for release in plan.releases:
            del self.jobs[release.job.name]
        self.jobs = {name: replace(one, complete=not one.failed) for name, one in self.jobs.items()}
        for create in plan.creates:
            self._serial += 1
            self.made.append(create)
            fresh = job(self.warmup, create.shard, create.node, uid=f"job-{self._serial}", complete=False)
            assert create.name not in self.jobs
            self.jobs[create.name] = fresh
        self.now += timedelta(seconds=seconds)
        return plan

    def plan(self) -> WarmupPlan:
        jobs = tuple(self.jobs.values())
        survey = survey_nodes(self.warmup.spec, self.nodes, self.unfit_since, self.now)
        held = {job.node_uid for job in jobs} | {shard.node_uid for shard in self.warmup.status.shards}
        self._outside = since_outside(held, survey, self._outside)
        return plan_warmup(WarmupSnapshot(self.warmup, with_outside(survey, self._outside), jobs))

    def cordon(self, name: str, for_seconds: float) -> None:
        """Nothing new goes there, and has not for that long."""
        self.nodes[name] = replace(self.nodes[name], unschedulable=True)
        self.unfit_since[self.nodes[name].uid] = self.now - timedelta(seconds=for_seconds)

    def uncordon(self, name: str) -> None:
        self.nodes[name] = replace(self.nodes[name], unschedulable=False)
        del self.unfit_since[self.nodes[name].uid]

    def fail(self, name: str) -> None:
        """The Job ends badly."""
        self.jobs[name] = replace(self.jobs[name], complete=False, failed=True, failure="DeadlineExceeded")

    def settle(self, passes: int = 200) -> WarmupStatus:
        """Until nothing more is to do."""
        quiet = 0
        for _ in range(passes):
            plan = self.step()
            quiet = 0 if plan.creates or plan.releases else quiet + 1
            if quiet == 3:
                return plan.status
        raise AssertionError(f"never settles: {self.warmup.status}")

    def change(self, **spec: object) -> None:
        """An edit of the spec."""
        self.warmup = msgspec.structs.replace(
            self.warmup,
            spec=msgspec.structs.replace(self.warmup.spec, **spec),
            generation=self.warmup.generation + 1,
        )

"""The Job controller: runs pods until enough have succeeded or too many failed, and counts each exactly once."""

from collections.abc import Sequence
from dataclasses import replace

from drydock.actors.jobs.backoff import Backoff
from drydock.actors.jobs.indexes import COMPLETION_INDEX
from drydock.actors.jobs.plan import (
    TRACKING,
    Census,
    JobPlan,
    is_finished,
    is_indexed,
    is_tracked,
    plan_job,
    take_census,
)
from drydock.actors.jobs.tracking import (
    Notes,
    announce,
    close_status,
    count_released,
    note_finished,
    open_status,
    with_suspension,
)
from drydock.actors.machinery.events import Broadcaster
from drydock.actors.machinery.informers import BY_CONTROLLER, BY_NAMESPACE, Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import (
    Key,
    Object,
    condition_of,
    controller_of,
    is_terminating,
    key_of,
    labels_of,
    moment_of,
    name_of,
    namespace_of,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.own_writes import OwnWrites
from drydock.actors.workloads.owned_pods import OwnedPods
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import KubeError, ObjectNotFound
from hawser.fitting.selectors import compile_selector
from hawser.resources import JOBS

# Pod events come in bunches; a Job is looked at once a second because of them.
_BATCH_SECONDS = 1.0
_JOBS = JOBS.raw()


class JobController:
    """Keeps Jobs true to their spec."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock, events: Broadcaster) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._recorder = events.recorder("job-controller")
        self._pods = OwnedPods(client, informers, self._recorder, clock, _JOBS, finalizer=TRACKING)
        self._own_statuses = OwnWrites(clock)
        self._backoffs: dict[str, Backoff] = {}
        self.loop: ReconcileLoop[Key] = ReconcileLoop("jobs", self._reconcile, clock)
        self.orphan_loop: ReconcileLoop[Key] = ReconcileLoop("job-orphans", self._release_orphan, clock)
        informers.jobs.subscribe(self._on_job)
        informers.pods.subscribe(self._on_pod)

    # -- what happened

    def _on_job(self, change: Change[Object]) -> None:
        job = change.latest
        if change.new is None:
            self._backoffs.pop(uid_of(job), None)
            self._own_statuses.forget_owner(uid_of(job))
            self._pods.writes.forget_owner(uid_of(job))
        if change.new is None or is_finished(job):
            for pod in self._informers.pods.cache.by_index(BY_CONTROLLER, uid_of(job)):
                self._check_orphan(pod)
        if change.kind == "modified" and change.old is not None and _generation(change.old) == _generation(job):
            self.loop.add_after(key_of(job), _BATCH_SECONDS)
        else:
            self.loop.add(key_of(job))

    def _on_pod(self, change: Change[Object]) -> None:
        pod = change.latest
        if change.new is None:
            owner = controller_of(pod)
            if owner is not None:
                self._pods.writes.gone(owner["uid"], uid_of(pod))
        for version in (change.old, change.new):
            if version is not None and (job := self._job_of(version)) is not None:
                self.loop.add_after(key_of(job), _BATCH_SECONDS)
        if change.new is None:
            return
        self._check_orphan(pod)
        if controller_of(pod) is None and not is_terminating(pod):
            self._offer(pod)

    def _offer(self, pod: Object) -> None:
        """Wake the Jobs that might adopt an orphan."""
        for job in self._informers.jobs.cache.by_index(BY_NAMESPACE, namespace_of(pod)):
            if not is_finished(job) and compile_selector(spec_of(job).get("selector"))(labels_of(pod)):
                self.loop.add_after(key_of(job), _BATCH_SECONDS)

    def _check_orphan(self, pod: Object) -> None:
        if is_tracked(pod):
            job = self._job_of(pod)
            if job is None or is_finished(job):
                self.orphan_loop.add(key_of(pod))

    def _job_of(self, pod: Object) -> Object | None:
        """The Job that controls the pod, if it is the one the pod means."""
        owner = controller_of(pod)
        if owner is None or owner.get("kind") != "Job":
            return None
        job = self._informers.jobs.cache.get(namespace_of(pod), owner["name"])
        return job if job is not None and uid_of(job) == owner.get("uid") else None

    # -- what to do

    async def _release_orphan(self, key: Key) -> float | None:
        """A pod whose Job is gone or finished must not be held back by the finalizer."""
        pod = self._informers.pods.cache.get(*key)
        if pod is None or not is_tracked(pod):
            return None
        owner = controller_of(pod)
        if owner is not None and owner.get("kind") != "Job":
            return None
        job = self._job_of(pod)
        if job is None or is_finished(job):
            await self._pods.remove_finalizer("", pod)
        return None

    async def _reconcile(self, key: Key) -> float | None:
        cached = self._informers.jobs.cache.get(*key)
        if cached is None:
            return None
        job = self._own_statuses.over(uid_of(cached), [cached])[0]
        if spec_of(job).get("managedBy") not in (None, "kubernetes.io/job-controller"):
            return None
        if is_finished(job):
            self._backoffs.pop(uid_of(job), None)
            return await self._expire(job)
        pods = await self._pods.claim(job, compile_selector(spec_of(job).get("selector")))
        now = self._clock.now()
        census = take_census(job, pods, self._backoffs.get(uid_of(job), Backoff()))
        plan = plan_job(job, pods, census, now)
        failure: KubeError | None = None
        try:
            await self._execute(job, plan)
        except KubeError as error:  # what did happen is counted first
            failure, plan = error, replace(plan, ending=None)
        await self._track(job, census, plan)
        if failure is not None:
            raise failure
        return plan.wake_in

    async def _execute(self, job: Object, plan: JobPlan) -> None:
        if plan.untrack_deleted:
            for pod in plan.delete:
                if is_tracked(pod):
                    await self._pods.remove_finalizer(uid_of(job), pod)
        if plan.delete:
            await self._pods.delete(job, plan.delete)
        if plan.create:
            await self._pods.create(job, [_template(job, index) for index in plan.create])

    async def _track(self, job: Object, census: Census, plan: JobPlan) -> None:
        """Write down what is alive, count what is finished, and close the Job when nothing is left."""
        now = self._clock.now()
        pods = self._pods.of(job)
        status = open_status(job, pods, now)
        told = ""
        if plan.ending is None and not is_terminating(job):
            status, told = with_suspension(job, status, now)
        notes = announce(note_finished(job, pods, census, status, plan.ending), now)
        if notes.status != status_of(job):
            job = await self._write_status(job, notes.status)
            self._backoffs[uid_of(job)] = census.backoff
        if told:
            self._pods.tell(job, "Normal", told, f"Job {told.lower()}")
        await self._settle(job, pods, notes)

    async def _settle(self, job: Object, pods: Sequence[Object], notes: Notes) -> None:
        """Release the noted pods, move them into the counters, and set the final condition if it is time."""
        tracked = {uid_of(pod) for pod in pods if is_tracked(pod)}
        for pod in notes.release:
            await self._pods.remove_finalizer(uid_of(job), pod)
            tracked.discard(uid_of(pod))
        status = count_released(status_of(job), tracked)
        closed = close_status(status, notes.final, self._clock.now()) if notes.everything_noted else None
        if closed is not None:
            status = closed
        if status != status_of(job):
            await self._write_status(job, status)
        if closed is None or notes.final is None:
            return
        if notes.final.type == "Complete":
            self._pods.tell(job, "Normal", "Completed", "Job completed")
        else:
            self._pods.tell(job, "Warning", notes.final.reason, notes.final.message)

    async def _write_status(self, job: Object, status: Object) -> Object:
        written = await self._client.update(_JOBS, {**job, "status": status}, subresource="status")
        self._own_statuses.wrote(uid_of(job), written)
        return written

    async def _expire(self, job: Object) -> float | None:
        """Delete a finished Job once its time to live is over."""
        ttl = spec_of(job).get("ttlSecondsAfterFinished")
        if ttl is None or is_terminating(job):
            return None
        remaining = _remaining_ttl(job, ttl, self._clock)
        if remaining > 0:
            return remaining
        try:
            fresh = await self._client.get(_JOBS, name_of(job), namespace_of(job))
            ttl = spec_of(fresh).get("ttlSecondsAfterFinished")
            if ttl is None or is_terminating(fresh) or not is_finished(fresh):
                return None
            remaining = _remaining_ttl(fresh, ttl, self._clock)
            if remaining > 0:
                return remaining
            await self._client.delete(
                _JOBS, name_of(job), namespace_of(job), uid=uid_of(fresh), propagation="Foreground"
            )
        except ObjectNotFound:
            pass
        return None


def _generation(item: Object) -> int:
    return int(item["metadata"].get("generation", 0))


def _remaining_ttl(job: Object, ttl: int, clock: Clock) -> float:
    condition = condition_of(job, "Complete") or condition_of(job, "Failed")
    assert condition is not None
    finished = moment_of(condition["lastTransitionTime"])
    return float(ttl - (clock.now() - finished).total_seconds())


def _template(job: Object, index: int | None) -> Object:
    """The pod template for a completion index."""
    template: Object = spec_of(job)["template"]
    if index is None or not is_indexed(job):
        return template
    metadata = template.get("metadata") or {}
    spec = dict(template["spec"])
    spec["hostname"] = f"{name_of(job)}-{index}"
    for containers in ("containers", "initContainers"):
        if spec.get(containers):
            spec[containers] = [_with_index(one) for one in spec[containers]]
    return {
        "metadata": {
            **metadata,
            "generateName": f"{name_of(job)}-{index}-",
            "labels": {**(metadata.get("labels") or {}), COMPLETION_INDEX: str(index)},
            "annotations": {**(metadata.get("annotations") or {}), COMPLETION_INDEX: str(index)},
        },
        "spec": spec,
    }


def _with_index(container: Object) -> Object:
    env = container.get("env") or []
    if any(one["name"] == "JOB_COMPLETION_INDEX" for one in env):
        return container
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return {**container, "env": [*env, {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}]}

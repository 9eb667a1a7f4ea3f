"""From Jobs and pods as the cluster shows them to what the planner reads, and to the evidence of a failure."""

from collections.abc import Mapping
from datetime import datetime

from hawser.client import KubeClient
from hawser.views import ContainerStatus, Job, Pod, find_condition
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.engine.evidence import gather_failure
from mooring.kinds.views import Submission
from mooring.model import names
from mooring.model.evidence import Failure, clean_line
from mooring.model.submission import StepPhase, spec_hash
from mooring.planning.submissions.plan import SeenJob

_CALM = frozenset({"", "ContainerCreating", "PodInitializing"})


def accepted_hash(view: Submission) -> str:
    """What was accepted; before that, what is asked for."""
    return view.status.spec_hash or spec_hash(view.spec)


def is_own(view: Submission, job: Job) -> bool:
    """Made by this very submission, from this very spec."""
    owner = job.metadata.controller
    same_spec = job.metadata.annotations.get(names.SPEC_HASH) == accepted_hash(view)
    return owner is not None and owner.uid == view.metadata.uid and same_spec


def own_jobs(view: Submission, informer: SubmissionInformer) -> tuple[Job, ...]:
    """The Jobs that this submission made."""
    return tuple(job for job in informer.jobs(view.metadata.key) if is_own(view, job))


def see_jobs(
    view: Submission, informer: SubmissionInformer, missing: Mapping[str, str], now: datetime
) -> Mapping[str, SeenJob]:
    """The submission's own Jobs, by step."""
    own = own_jobs(view, informer)
    return {job.metadata.labels.get(names.STEP, ""): _seen(job, informer, missing, now) for job in own}


def _seen(job: Job, informer: SubmissionInformer, missing: Mapping[str, str], now: datetime) -> SeenJob:
    meta, status = job.metadata, job.status
    phase, why = StepPhase.STARTING, ""
    if job.complete:
        phase = StepPhase.SUCCEEDED
    elif job.failed:
        phase, why = StepPhase.FAILED, why_failed(job)
    elif status.ready:
        phase = StepPhase.RUNNING
    else:
        why = _why_waiting(informer.pods(meta.namespace, meta.name)) or missing.get(meta.uid, "")
    return SeenJob(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        phase=phase,
        attempts=status.active + status.succeeded + status.failed,
        why=why,
        terminating=job.terminating,
        age_seconds=(now - meta.creation_timestamp).total_seconds() if meta.creation_timestamp else 0.0,
        node_uids=frozenset(meta.annotations.get(names.NODE_UID, "").split()),
    )


def why_failed(job: Job) -> str:
    """The reason and the words of the Job's condition."""
    condition = find_condition(job.status.conditions, "Failed")
    return clean_line(f"{condition.reason}: {condition.message}") if condition is not None else ""


def _why_waiting(pods: tuple[Pod, ...]) -> str:
    for pod in pods:
        scheduled = find_condition(pod.status.conditions, "PodScheduled")
        if scheduled is not None and scheduled.status == "False":
            return clean_line(f"{pod.metadata.name} cannot be scheduled: {scheduled.message}")
        for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            waiting = container.state.waiting
            if waiting is not None and waiting.reason not in _CALM:
                return clean_line(f"{pod.metadata.name}: {waiting.reason}: {waiting.message}")
    return ""


async def gather_evidence(client: KubeClient, job: Job, pods: tuple[Pod, ...], before: str) -> Failure:
    """Pod, container, exit code and last lines of the run that failed last; when the pods are gone, it says so.

    What was said of a Job `before` it failed is all there is when it never had a pod.
    """
    reason = f"{job.metadata.name}: {why_failed(job)}"
    if not pods and not job.status.failed and before:
        return Failure(reason=clean_line(f"{reason}; until then: {before}"), logs=("it never had a pod",))
    failed = [(pod, container) for pod in pods if (container := _failed_container(pod)) is not None]
    if not failed:
        return Failure(reason=clean_line(reason), logs=("its pods are gone: there is no log to show",))
    pod, container = max(failed, key=lambda pair: _ended_at(pair[1]))
    return await gather_failure(client, pod, container, reason)


def _failed_container(pod: Pod) -> ContainerStatus | None:
    for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        ended = container.state.terminated or container.last_state.terminated
        if ended is not None and ended.exit_code:
            return container
    return None


def _ended_at(container: ContainerStatus) -> str:
    ended = container.state.terminated or container.last_state.terminated
    return ended.finished_at.isoformat() if ended is not None and ended.finished_at is not None else ""

"""The status of a Warmup: the state of every shard, the phase, and its reason."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mooring.model.warm_job import Refusal, WarmJob, WarmPod
from mooring.model.warmup import Circuit, Phase, ShardState, ShardStatus, Warmup
from mooring.model.why import Condition, merge_conditions
from mooring.planning.warmups.assignment import Assignment
from mooring.planning.warmups.jobs import FETCH, VERIFY, job_name
from mooring.planning.warmups.nodes import NodeSurvey
from mooring.planning.warmups.staleness import ReleaseJob, Staleness


@dataclass(frozen=True, slots=True)
class ShardInputs:
    """Everything that the state of a shard depends on."""

    warmup: Warmup
    survey: NodeSurvey
    assignment: Assignment
    jobs: Mapping[str, WarmJob]  # by name, without terminating ones
    stale: Mapping[str, ReleaseJob]  # by name
    pods: Mapping[str, WarmPod]  # by the Job's uid
    progress: Mapping[str, float]  # by the Job's uid
    taken: Mapping[str, str]  # names that are taken by foreign Jobs, and why nothing is done about it
    refused: Mapping[str, Refusal]  # names of Jobs that the cluster refused to create
    hindered: Mapping[str, str]  # why a Job has no pod, by the Job's uid
    held_because: str  # why no Job may be created now; empty if Jobs may be created

    def has_pod(self, name: str) -> bool:
        return self.jobs[name].uid in self.pods


class Copy(NamedTuple):
    """The copy in use: its generation, and the node that holds it."""

    generation: str = ""
    node: str = ""
    uid: str = ""

    def beside(self, uid: str) -> tuple[str, str]:
        """Name and uid of its node, if it is not the shard's own node."""
        return (self.node, self.uid) if self.uid != uid else ("", "")


def compute_shards(inputs: ShardInputs) -> tuple[ShardStatus, ...]:
    """The state of every shard."""
    known = {shard.shard: shard for shard in inputs.warmup.status.shards}
    numbers = range(inputs.assignment.wanted) if inputs.warmup.spec.mode == "Shard" else sorted(inputs.assignment.homes)
    if not numbers:  # Broadcast without a node: its copies are lost, and are still shown
        numbers = sorted(known)
    return tuple(_shard(inputs, number, known.get(number, ShardStatus(shard=number))) for number in numbers)


def _shard(inputs: ShardInputs, number: int, before: ShardStatus) -> ShardStatus:
    name = job_name(inputs.warmup.spec.dataset, number)
    if before.job not in ("", name):
        before = ShardStatus(shard=number)  # the status belongs to another dataset that this Warmup had before
    job = inputs.jobs.get(name)
    copy = _copy_in_use(inputs, job, before)
    if job is None:
        return _without_job(inputs, number, name, before, copy)
    state, why = _judge(inputs, job)
    pod = inputs.pods.get(job.uid)
    fetched = inputs.progress.get(job.uid, before.progress if before.state == ShardState.FETCHING else 0.0)
    progress = {ShardState.DONE: 1.0, ShardState.VERIFYING: 1.0, ShardState.FETCHING: fetched}.get(state, 0.0)
    return ShardStatus(
        number,
        job.node,
        job.node_uid,
        name,
        state.value,
        progress,
        copy.generation,
        pod.restarts if pod else 0,
        why,
        *copy.beside(job.node_uid),
    )


def _without_job(inputs: ShardInputs, number: int, name: str, before: ShardStatus, copy: Copy) -> ShardStatus:
    home = inputs.assignment.homes.get(number)
    gone = bool(before.node_uid) and inputs.survey.live(before.node, before.node_uid) is None
    lost = before.state == ShardState.STALE or (gone and before.state == ShardState.DONE)
    refusal = inputs.refused.get(name)
    because = inputs.taken.get(name) or inputs.held_because or (refusal.why if refusal else "")
    because = because or ("" if home else inputs.assignment.message)
    if lost:
        why = f"it was on {before.holder[0]}" + (f"; {because}" if because else "")
        state = ShardState.STALE
    else:
        final = refusal is not None and refusal.final and because == refusal.why
        why, state = because or "its Job is about to be made", ShardState.FAILED if final else ShardState.WAITING
    node, uid = (home.name, home.uid) if home else (before.node, before.node_uid) if lost else ("", "")
    return ShardStatus(number, node, uid, name, state.value, 0.0, copy.generation, 0, why, *copy.beside(uid))


def _judge(inputs: ShardInputs, job: WarmJob) -> tuple[ShardState, str]:
    release = inputs.stale.get(job.name)
    if release is not None:
        failed = release.staleness is Staleness.FAILED
        return (ShardState.FAILED if failed else ShardState.STALE), release.reason
    if job.name in inputs.taken:
        return ShardState.WAITING, inputs.taken[job.name]
    if inputs.survey.live(job.node, job.node_uid) is None:
        return ShardState.STALE, f"its node {job.node} has not been Ready for more than a minute"
    if job.complete:
        why = inputs.survey.why_left(inputs.survey.nodes[job.node])
        return ShardState.DONE, f"{why}, and no other is free" if why else ""
    pod = inputs.pods.get(job.uid)
    if pod is None:
        return ShardState.WAITING, inputs.hindered.get(job.uid, "its pod is not there yet")
    if pod.restarts >= inputs.warmup.spec.fail_after_restarts:
        return ShardState.FAILED, f"{pod.failing} was restarted {pod.restarts} times"
    if pod.container == FETCH and (pod.running or pod.restarts):
        again = f"tried again, {pod.restarts} restart(s) so far" if pod.restarts else ""
        return ShardState.FETCHING, again
    if pod.container == FETCH or not (pod.container or pod.finished):
        return ShardState.WAITING, pod.waiting or "its pod starts"
    return ShardState.VERIFYING, "" if pod.container != VERIFY or not pod.restarts else "the content was wrong"


def _copy_in_use(inputs: ShardInputs, job: WarmJob | None, before: ShardStatus) -> Copy:
    """A copy stays in use after its Job: the next generation is fetched into another folder."""
    if job is not None and job.complete and inputs.survey.live(job.node, job.node_uid) is not None:
        return Copy(job.generation, job.node, job.node_uid)
    if before.warm and inputs.survey.live(*before.holder) is not None:
        return Copy(before.warm, *before.holder)
    return Copy()


def compute_phase(
    shards: Sequence[ShardStatus], assignment: Assignment, circuit: Circuit, working: bool
) -> tuple[Phase, str]:
    """The phase and its reason."""
    counts = Counter(shard.state for shard in shards)
    ready = sum(bool(shard.warm) for shard in shards)
    message = f"{ready} of {len(shards)} shards are warm"
    whys = sorted({shard.why for shard in shards if shard.why})
    because = f": {'; '.join(whys[:3])}" if whys else ""
    if counts[ShardState.STALE]:
        return Phase.STALE, message + because
    if circuit.is_open and circuit.open_until is not None:
        until = circuit.open_until.strftime("%H:%M:%SZ")
        return Phase.FAILED, f"the circuit is open until {until}, too many Jobs failed; {message}{because}"
    if counts[ShardState.FAILED]:
        return Phase.FAILED, message + because
    if shards and counts[ShardState.DONE] == len(shards) and not assignment.homeless:
        return Phase.READY, message + because
    return (Phase.WARMING if working else Phase.PENDING), message + because if shards else assignment.message


def compute_conditions(
    warmup: Warmup, phase: Phase, reason: str, problems: Sequence[str], now: str
) -> tuple[Condition, ...]:
    """Valid and Ready. Transition times are kept while a status does not change."""
    generation = warmup.generation
    valid = Condition("Valid", "True", "Accepted", "the spec is valid", observed_generation=generation)
    if problems:
        valid = Condition("Valid", "False", "InvalidSpec", "; ".join(problems), observed_generation=generation)
    held = "True" if phase is Phase.READY else "False"
    ready = Condition("Ready", held, phase.value, reason, observed_generation=generation)
    return merge_conditions(warmup.status.conditions, (valid, ready), now)

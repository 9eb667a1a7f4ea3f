"""Which claims are made and released: as a table, and for random histories of a whole GitHub."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.client.records import ClaimedWorker, ClaimView, read_claim
from mooring_github_actions.job import Job, JobStatus, choose_newer
from mooring_github_actions.names import attempt_of, job_of, make_key, make_runner_name
from mooring_github_actions.plan import MakeClaim, ReadJob, ReleaseClaim, Snapshot, plan_claims
from mooring_github_actions.pools import parse_rules

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
POOL, LABELS = "ci/runners", ("linux", "self-hosted")
RULES = parse_rules(f"{POOL}=self-hosted,linux,x64; ci/gpu=self-hosted,gpu")
QUEUED, RUNNING, DONE = JobStatus.QUEUED, JobStatus.IN_PROGRESS, JobStatus.COMPLETED


def job(number: int, status: JobStatus = QUEUED, runner: str = "", ago: float = 3600) -> Job:
    completed_at = NOW - timedelta(seconds=ago) if status is DONE else None
    return Job(number, number, "acme/app", LABELS, status, runner, completed_at)


def claim(number: int, attempt: int = 1, state: str = "running", pool: str = POOL) -> ClaimView:
    namespace, _, name = pool.partition("/")
    body = {"id": f"c{number}-{attempt}", "namespace": namespace, "pool": name, "owner": "github", "ttlSeconds": 300}
    worker = None if state == "queued" else {"name": "w", "uid": "u", "address": "a"}
    key = make_key(number, attempt)
    return read_claim({**body, "state": state, "epoch": 1, "worker": worker, "idempotencyKey": key})


def runner_of(found: ClaimView) -> str:
    return make_runner_name(found.id, 1)


def decide(jobs: Iterable[Job], claims: Iterable[ClaimView], **spent: int) -> list[tuple[str, object]]:
    snapshot = Snapshot(
        NOW, {one.id: one for one in jobs}, list(claims), RULES, {int(k[1:]): v for k, v in spent.items()}
    )
    decided: list[tuple[str, object]] = []
    for action in plan_claims(snapshot):
        assert action.reason
        match action:
            case MakeClaim():
                decided.append(("make", make_key(action.job.id, action.attempt)))
            case ReleaseClaim():
                decided.append(("release", action.claim.key))
            case ReadJob():
                decided.append(("read", action.job))
    return decided


def test_a_queued_job_gets_a_claim_of_its_own_and_only_one() -> None:
    assert decide([job(1)], []) == [("make", "github-job-1-1")]
    assert decide([job(1)], [claim(1, state="queued")]) == []
    assert decide([job(1)], [claim(1)]) == []


def test_a_job_whose_runner_took_another_job_is_served_by_the_runner_of_that_job() -> None:
    first, second = claim(1), claim(2)
    assert decide([job(1), job(2, RUNNING, runner_of(first))], [first, second]) == []


def test_a_job_whose_claim_is_spent_gets_another_attempt() -> None:
    assert decide([job(1)], [], j1=1) == [("make", "github-job-1-2")]


def test_a_job_whose_runner_took_another_job_and_that_finds_no_other_gets_another_attempt() -> None:
    mine = claim(2)
    assert decide([job(1, RUNNING, runner_of(mine)), job(2)], [mine]) == [("make", "github-job-2-2")]


def test_a_cancelled_job_gives_its_claim_back_unless_another_job_needs_the_runner() -> None:
    assert decide([job(1, DONE)], [claim(1)]) == [("release", "github-job-1-1")]
    assert decide([job(1, DONE)], [claim(1, state="queued")]) == [("release", "github-job-1-1")]
    assert decide([job(1, DONE), job(2)], [claim(1)]) == []


def test_a_claim_whose_runner_runs_any_job_is_never_released() -> None:
    mine = claim(1)
    assert decide([job(1, DONE), job(7, RUNNING, runner_of(mine))], [mine]) == []
    assert decide([job(1, RUNNING, runner_of(mine))], [mine]) == []


def test_a_runner_that_has_done_its_job_has_time_to_exit() -> None:
    mine = claim(1)
    assert decide([job(1, DONE, runner_of(mine), ago=5)], [mine]) == []
    assert decide([job(1, DONE, runner_of(mine), ago=61)], [mine]) == [("release", "github-job-1-1")]


def test_a_claim_of_a_job_that_nobody_knows_is_read_first() -> None:
    assert decide([], [claim(1)]) == [("read", 1)]


def test_jobs_with_other_labels_and_claims_of_others_are_left_alone() -> None:
    assert decide([replace(job(1), labels=("ubuntu-latest",)), replace(job(2), labels=())], []) == []
    assert decide([], [replace(claim(1), key="build-42"), replace(claim(1), key=None)]) == []
    assert decide([replace(job(3), labels=("gpu", "self-hosted"))], [])[0] == ("make", "github-job-3-1")


@pytest.mark.parametrize(
    "reports",
    [
        [QUEUED, RUNNING, DONE],
        [DONE, RUNNING, QUEUED],
        [QUEUED, QUEUED, DONE, QUEUED],
        [RUNNING, DONE, RUNNING, QUEUED],
    ],
)
def test_deliveries_in_any_order_end_at_the_same_state(reports: list[JobStatus]) -> None:
    known: Job | None = None
    for status in reports:
        known = choose_newer(known, job(1, status))
    assert known is not None and known.status is DONE


@dataclass
class World:
    """GitHub, Mooring with a few workers, and what the receiver knows."""

    workers: int
    truth: dict[int, Job] = field(default_factory=dict)
    claims: dict[str, ClaimView] = field(default_factory=dict)  # by key
    known: dict[int, Job] = field(default_factory=dict)
    spent: dict[int, int] = field(default_factory=dict)
    post: list[Job] = field(default_factory=list)
    runs: dict[int, int] = field(default_factory=dict)

    @property
    def open(self) -> list[ClaimView]:
        return [found for found in self.claims.values() if found.open]

    def become(self, found: Job) -> None:
        self.truth[found.id] = found
        self.post.append(found)

    def bind(self) -> None:
        """Mooring gives free workers to waiting claims."""
        held = sum(found.worker is not None for found in self.open)
        for found in self.open:
            if found.worker is None and held < self.workers:
                held += 1
                self.claims[found.key or ""] = replace(found, state="running", worker=ClaimedWorker("w", "u", "a"))

    def busy(self) -> set[str]:
        return {found.runner for found in self.truth.values() if found.status is RUNNING}

    def take(self, pick: int) -> None:
        """An idle runner takes the oldest queued job."""
        idle = [one for one in self.open if one.worker is not None and runner_of(one) not in self.busy()]
        waiting = [one for one in self.truth.values() if one.status is QUEUED]
        if idle and waiting:
            self.become(replace(waiting[0], status=RUNNING, runner=runner_of(idle[pick % len(idle)])))
            self.runs[waiting[0].id] = self.runs.get(waiting[0].id, 0) + 1

    def finish(self, pick: int) -> None:
        """A runner ends with its job, and its worker reports the end of the session."""
        running = [one for one in self.truth.values() if one.status is RUNNING]
        if running:
            done = running[pick % len(running)]
            self.become(replace(done, status=DONE, completed_at=NOW - timedelta(hours=1)))
            for key, found in self.claims.items():
                if runner_of(found) == done.runner:
                    self.claims[key] = replace(found, state="released")

    def deliver(self, pick: int, lose: bool) -> None:
        if self.post:
            told = self.post.pop(pick % len(self.post))
            if not lose:
                self.known[told.id] = choose_newer(self.known.get(told.id), told)

    def look(self) -> None:
        for one in self.truth.values():
            self.known[one.id] = choose_newer(self.known.get(one.id), one)

    def restart(self) -> None:
        """The receiver loses all that it knew."""
        self.known, self.spent = {}, {}

    def act(self) -> int:
        """One round of the receiver; how many things it did."""
        for found in self.open:
            self.spent[job_of(found) or 0] = max(self.spent.get(job_of(found) or 0, 0), attempt_of(found) - 1)
        plan = plan_claims(Snapshot(NOW, self.known, self.open, RULES, self.spent))
        for action in plan:
            match action:
                case MakeClaim():
                    key = make_key(action.job.id, action.attempt)
                    found = self.claims.setdefault(key, claim(action.job.id, action.attempt, "queued"))
                    if not found.open:
                        self.spent[action.job.id] = action.attempt
                        self.known[action.job.id] = choose_newer(self.known[action.job.id], self.truth[action.job.id])
                case ReleaseClaim():
                    if runner_of(action.claim) not in self.busy():  # GitHub refuses to remove a busy runner
                        self.claims[action.claim.key or ""] = replace(action.claim, state="released")
                case ReadJob():
                    self.known[action.job] = choose_newer(self.known.get(action.job), self.truth[action.job])
        return len(plan)


EVENTS = st.lists(st.tuples(st.sampled_from("pctfdlrbaa"), st.integers(0, 7)), max_size=60)


@settings(max_examples=300, deadline=None)
@given(workers=st.integers(1, 4), events=EVENTS)
def test_every_job_runs_once_or_is_cancelled_whatever_happens_to_webhooks_and_receiver(
    workers: int, events: list[tuple[str, int]]
) -> None:
    world = World(workers)
    for event, pick in events:
        match event:
            case "p":
                world.become(job(len(world.truth) + 1))
            case "c" if waiting := [one for one in world.truth.values() if one.status is QUEUED]:
                world.become(replace(waiting[pick % len(waiting)], status=DONE, completed_at=NOW - timedelta(hours=1)))
            case "t":
                world.take(pick)
            case "f":
                world.finish(pick)
            case "d" | "l":
                world.deliver(pick, lose=event == "l")
            case "r":
                world.restart()
            case "b":
                world.bind()
            case "a":
                world.act()
        assert world.busy() <= {runner_of(one) for one in world.open}, "the claim of a busy runner was released"
    for _ in range(8 * len(world.truth) + 8):  # from here on the periodic look works
        world.look()
        world.act()
        world.bind()
        world.take(0)
        world.finish(0)
    world.look()
    while world.act():
        pass
    assert all(one.status is DONE for one in world.truth.values()), "a job was lost"
    assert all(count == 1 for count in world.runs.values()), "a job ran twice"
    assert world.open == [], "a claim was left"

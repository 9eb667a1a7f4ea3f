"""The requests of a submission for each batch, in virtual time. The number must not grow with the batches.

python -m benchmarks.submissions [BATCHES ...]      (default: 100 1000)
"""

import sys
from collections import Counter
from dataclasses import dataclass

from benchmarks.bars import Bar, judge
from drydock import plain_nodes, run_virtual
from hawser.clock import SystemClock
from hawser.resources import JOBS
from mooring.incidents.stage import NAMESPACE, START, open_stage
from mooring.kinds.resources import SUBMISSIONS
from mooring.model.submission import Step, SubmissionSpec, name_for

NODES = 20
MOST_SECONDS = 3600.0
REQUESTS_BAR = 1.1  # a batch: one create


@dataclass(frozen=True)
class Cost:
    """The requests of one submission."""

    batches: int
    creates: int
    of_jobs: int
    others: dict[str, int]
    seconds: float

    @property
    def a_batch(self) -> float:
        """The requests about Jobs, for each Job."""
        return self.of_jobs / (self.batches + 2)


def measure(batches: int) -> Cost:
    """Run one submission in its own virtual cluster."""

    async def play() -> Cost:
        async with open_stage(1, plain_nodes(NODES)) as stage:
            replica = stage.start()
            await replica.mooring.wait_synced()
            await stage.clock.sleep(2)
            before = len(replica.transport.calls)
            many = tuple(Step(args=(f"query-{number}",)) for number in range(batches))
            order = SubmissionSpec(key="many", program="search", setup=Step(), batches=many, finalizer=Step())
            await replica.mooring.submissions.commands.submit(NAMESPACE, order, actor="benchmark")
            started = stage.clock.monotonic()
            while (await stage.client.get(SUBMISSIONS, name_for("many"), NAMESPACE)).status.phase != "Succeeded":
                assert stage.clock.monotonic() - started < MOST_SECONDS, "the submission does not end"
                await stage.clock.sleep(5)
            seconds = stage.clock.monotonic() - started
            made = (await stage.client.list(JOBS, NAMESPACE)).items
            assert len(made) == batches + 2 and all(job.status.succeeded == 1 for job in made)
            calls = replica.transport.calls[before:]
            kinds = Counter(f"{call.method} {_kind(call.path)}" for call in calls)
            creates = sum(call.mutation and call.method == "POST" and call.path.endswith("/jobs") for call in calls)
            of_jobs = sum("/jobs" in call.path for call in calls)
            return Cost(batches, creates, of_jobs, dict(kinds), seconds)

    return run_virtual(play, seed=1, start=START)


def _kind(path: str) -> str:
    parts = path.split("/")
    at = parts.index("namespaces") + 2 if "namespaces" in parts else -1
    kind = parts[at] if at < len(parts) else path
    return f"{kind}/status" if parts[-1] == "status" else kind


def main() -> int:
    """Print a line for each size, then the bars."""
    clock, bars = SystemClock(), []
    for batches in [int(text) for text in sys.argv[1:]] or [100, 1000]:
        began = clock.monotonic()
        cost = measure(batches)
        print(
            f"{cost.batches} batches: {cost.a_batch:.3f} Job requests a batch, {cost.creates} creates, "
            f"{cost.others.get('PATCH submissions/status', 0)} status writes, {sum(cost.others.values())} in all, "
            f"{cost.seconds:.0f} s of virtual time, {clock.monotonic() - began:.1f} s of real time"
        )
        bars.append(Bar(f"Job requests a batch, {batches} batches", cost.a_batch, REQUESTS_BAR))
    return judge(bars)


if __name__ == "__main__":
    sys.exit(main())

"""A thousand batches to the end, in virtual time: how many requests a batch costs, and that the number is fixed.

python benchmarks/submissions.py [BATCHES ...]      (default: 100 1000)
"""

import sys
from collections import Counter
from dataclasses import dataclass

from mooring.clock import SystemClock
from mooring.incidents.stage import NAMESPACE, START, open_stage
from mooring.kube.resources import JOBS, SUBMISSIONS
from mooring.model.submission import Step, SubmissionSpec, name_for
from mooring.sandbox.cluster import plain_nodes
from mooring.sandbox.virtual import run_virtual

NODES = 20
MOST_SECONDS = 3600.0


@dataclass(frozen=True)
class Cost:
    """What one submission cost the API server."""

    batches: int
    creates: int
    of_jobs: int
    others: dict[str, int]
    seconds: float

    @property
    def a_batch(self) -> float:
        """Requests that grow with the batches: those that make Jobs."""
        return self.of_jobs / (self.batches + 2)


def measure(batches: int) -> Cost:
    """One submission with so many batches, on a stage of its own."""

    async def play() -> Cost:
        async with open_stage(1, plain_nodes(NODES)) as stage:
            replica = stage.start()
            await replica.mooring.fleet.wait_synced()
            await stage.clock.sleep(2)
            before = len(replica.transport.calls)
            many = tuple(Step(args=(f"query-{number}",)) for number in range(batches))
            order = SubmissionSpec(key="many", program="search", setup=Step(), batches=many, finalizer=Step())
            await replica.mooring.submissions.desk.submit(NAMESPACE, order)
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


def main() -> None:
    """Print a line for each size."""
    clock = SystemClock()
    for batches in [int(text) for text in sys.argv[1:]] or [100, 1000]:
        began = clock.monotonic()
        cost = measure(batches)
        print(
            f"{cost.batches} batches: {cost.a_batch:.3f} Job requests a batch, {cost.creates} creates, "
            f"{cost.others.get('PATCH submissions/status', 0)} status writes, {sum(cost.others.values())} in all, "
            f"{cost.seconds:.0f} s of virtual time, {clock.monotonic() - began:.1f} s of ours"
        )


if __name__ == "__main__":
    main()

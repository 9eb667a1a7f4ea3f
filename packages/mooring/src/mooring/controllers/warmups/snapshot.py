"""What the decision about a Warmup looks at, frozen."""

from mooring.controllers.warmups.adoption import WarmAdoption
from mooring.controllers.warmups.creation import WarmCreation
from mooring.controllers.warmups.evidence import WarmEvidence
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.model.warmup import Warmup, find_problems
from mooring.planning.warmups.adoption import AdoptedJobs
from mooring.planning.warmups.plan import WarmupSnapshot, plan_warmup


class WarmupSnapshots:
    """Takes snapshots, with the progress of running fetches and the reasons why pods are missing."""

    def __init__(
        self, informer: WarmupInformer, evidence: WarmEvidence, creation: WarmCreation, adoption: WarmAdoption
    ) -> None:
        self._informer = informer
        self._evidence = evidence
        self._creation = creation
        self._adoption = adoption

    async def take(self, warmup: Warmup) -> WarmupSnapshot:
        """Everything about one dataset. The plan names the Jobs worth asking; taken again when their answer is new."""
        adopted = await self._adoption.read(warmup)
        snapshot = self._take(warmup, adopted)
        plan = plan_warmup(snapshot)
        moved = await self._evidence.poll(warmup, plan.fetching, snapshot.jobs)
        explained = await self._evidence.look_for_pods(warmup, plan.podless)
        return self._take(warmup, adopted) if moved or explained else snapshot

    def _take(self, warmup: Warmup, adopted: AdoptedJobs) -> WarmupSnapshot:
        jobs, taken = self._creation.jobs(warmup)
        return WarmupSnapshot(
            warmup=warmup,
            survey=self._informer.survey(warmup, jobs),
            jobs=jobs,
            pods=self._informer.pods(warmup),
            load=self._informer.load,
            progress=self._evidence.progress(warmup.key),
            taken=taken,
            refused=self._creation.refused(warmup),
            hindered=self._evidence.hindered(warmup.key),
            problems=find_problems(warmup, self._informer.older(warmup)),
            adopted=adopted,
            waits_for=self._informer.cleaned_by(warmup),
        )

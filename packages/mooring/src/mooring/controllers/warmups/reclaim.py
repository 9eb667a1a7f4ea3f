"""Removing the data of a deleted Warmup, while a finalizer keeps the object until that is done or given up."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Literal

import structlog

from hawser.errors import ApiError, KubeError, ObjectNotFound
from hawser.resources import JOBS, NODES
from hawser.views import Job
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.controllers.warmups.manifests import cleanup_manifest
from mooring.controllers.warmups.refusals import explain_refusal
from mooring.engine.absence import live_uid
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.engine.creator import Creator, NameTaken
from mooring.engine.events import EventNote
from mooring.kinds.resources import WARMUPS
from mooring.model import names
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.errors import Unavailable
from mooring.model.warm_data import SETTLED, CopyState
from mooring.model.warm_job import WarmJob
from mooring.model.warmup import Warmup, WarmupStatus
from mooring.planning.warmups.reclaim import (
    CleanupJob,
    CreateCleanup,
    ReclaimPlan,
    ReclaimSnapshot,
    find_sharing,
    plan_reclaim,
    record_copies,
)
from mooring.planning.warmups.staleness import WARM_ON_LIVE_NODE

log = structlog.get_logger()

ACTOR = "reclaim"
_MOST_LOOKS = 50  # at nodes, in one pass
_LONGEST_MESSAGE = 1024  # of an Event

WriteStatus = Callable[[Warmup, WarmupStatus], Awaitable[None]]


class Reclaim:
    """Keeps the finalizer, and carries out the removal. What it remembers may be lost at any time."""

    def __init__(self, context: Context, informer: WarmupInformer, write: WriteStatus) -> None:
        self._context = context
        self._client = context.client
        self._informer = informer
        self._write = write
        self._creator = Creator(context.client, context.clock, context.entropy, attempts=1)
        self._events = context.events
        self._made: dict[str, set[str]] = {}  # by Warmup: names of cleanup Jobs that the cache may not show yet
        self._refused: dict[str, dict[str, str]] = {}  # by Warmup and name of the Job
        self._hopeless: dict[str, str] = {}  # by Warmup
        self._unaudited: dict[str, str] = {}  # by Warmup: why the last pass could not write an audit row

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._made.pop(key, None)
        self._refused.pop(key, None)
        self._hopeless.pop(key, None)
        self._unaudited.pop(key, None)

    async def guard(self, warmup: Warmup) -> None:
        """Put the finalizer on, before any data is fetched, or take it off, as `reclaim` says."""
        if warmup.defects:
            return
        wanted = warmup.spec.reclaim == "Delete"
        if wanted != (names.WARM_DATA_FINALIZER in warmup.finalizers):
            await self._set_finalizer(warmup, wanted)

    async def run(self, warmup: Warmup) -> datetime | None:
        """One pass over a Warmup that is being deleted; answers when to look again."""
        if warmup.spec.reclaim == "Keep" and not warmup.defects:
            await self._release(warmup, "reclaim is Keep: its data stays on the nodes", {})
            return None
        plan = plan_reclaim(await self._snapshot(warmup))
        await self._write(warmup, plan.status)
        try:
            return await self._carry_out(warmup, plan)
        except Unavailable as error:
            if warmup.key not in self._unaudited:
                self._unaudited[warmup.key] = error.message
                await self._write(warmup, plan_reclaim(await self._snapshot(warmup)).status)
            raise

    async def _carry_out(self, warmup: Warmup, plan: ReclaimPlan) -> datetime | None:
        for job in plan.stops:
            await self._stop(job)
        for create in plan.creates:
            await self._create(warmup, create)
        if not plan.release:
            self._unaudited.pop(warmup.key, None)
            await self._report_waiting(warmup, plan)
            return plan.wake_at
        await self._finish(warmup, plan)
        return None

    async def _snapshot(self, warmup: Warmup) -> ReclaimSnapshot:
        nodes = self._context.nodes.by_name
        copies = record_copies(warmup, warmup.status.shards, {})
        present = {node.uid for node in nodes.values()}
        absent = [copy for copy in copies if copy.state not in SETTLED and copy.node_uid not in present]
        gone = {copy.node_uid for copy in absent[:_MOST_LOOKS] if await self._is_gone(copy.node, copy.node_uid)}
        others = self._informer.folders(warmup)
        paths = {copy.path for copy in copies}
        cleanups = self._informer.cleanups(warmup)
        made = self._made.setdefault(warmup.key, set())
        made -= cleanups.keys()
        paused = self._context.switches.why_paused(WARM_ON_LIVE_NODE)
        return ReclaimSnapshot(
            now=self._context.clock.now().replace(microsecond=0),
            warmup=warmup,
            nodes=nodes,
            gone=gone,
            jobs=tuple(job for job in self._informer.jobs(warmup) if job.owner_uid == warmup.uid),
            writers={pod.node for pod in self._informer.pods(warmup).values() if not pod.finished and pod.node},
            cleanups=cleanups,
            shared={path: other for path in paths if (other := find_sharing(path, others))},
            refused=dict(self._refused.get(warmup.key, {})),
            held_because=f"{WARM_ON_LIVE_NODE} is paused: {paused}" if paused else "",
            hopeless=self._hopeless.get(warmup.key, ""),
            unaudited=self._unaudited.get(warmup.key, ""),
        )

    async def _is_gone(self, node: str, uid: str) -> bool:
        """A live 404, or another uid under that name. An error proves nothing."""
        found = await live_uid(self._client, NODES, node, None)
        return found is not None and found != uid

    async def _stop(self, job: WarmJob) -> None:
        """A fetch that runs on would write again what is removed."""

        async def delete() -> Result:
            version = job.resource_version
            await self._client.delete(
                JOBS, job.name, job.namespace, uid=job.uid, resource_version=version, propagation="Background"
            )
            return DONE

        await self._context.auditor.carry_out(
            delete,
            actor=ACTOR,
            action="delete",
            subject=Subject("Job", job.namespace, job.name, job.uid),
            reason="its Warmup is being deleted, and its data with it",
            evidence={"node": job.node, "nodeUID": job.node_uid},
        )

    async def _create(self, warmup: Warmup, create: CreateCleanup) -> None:
        """One cleanup Job; a refusal is part of the status, and the end of the patience ends it."""
        if create.name in self._made.setdefault(warmup.key, set()):
            return
        body = cleanup_manifest(warmup, create)
        refused = self._refused.setdefault(warmup.key, {})
        try:
            await self._creator.create(JOBS, body, warmup.namespace, lambda found: _is_ours(found, warmup))
        except (NameTaken, KubeError) as error:
            refused[create.name] = explain_refusal(error).why if isinstance(error, KubeError) else error.message
            if isinstance(error, ApiError) and any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                self._hopeless[warmup.key] = f"no Job can be made: namespace {warmup.namespace} is being deleted"
            log.warning("a cleanup Job could not be made", warmup=warmup.key, job=create.name, error=error.message)
            return
        refused.pop(create.name, None)
        self._made[warmup.key].add(create.name)

    async def _report_waiting(self, warmup: Warmup, plan: ReclaimPlan) -> None:
        """An Event for each new set of nodes that wait."""
        waiting = plan.nodes_in(CopyState.WAITING)
        if waiting:
            await self._note(warmup, "DataWaits", plan.report, occasion=" ".join((warmup.uid, *waiting)))

    async def _finish(self, warmup: Warmup, plan: ReclaimPlan) -> None:
        left = plan.nodes_in(CopyState.LEFT)
        reason = "DataLeft" if left else "DataRemoved"
        await self._note(warmup, reason, plan.report, occasion=warmup.uid)
        for job in self._informer.cleanups(warmup).values():
            await self._drop(warmup, job)
        evidence = {state.value: plan.nodes_in(state) for state in (CopyState.REMOVED, CopyState.GONE, CopyState.LEFT)}
        await self._release(warmup, plan.report, evidence)

    async def _drop(self, warmup: Warmup, job: CleanupJob) -> None:
        """One that hangs must not remove data of a later Warmup. What fails here ends by its own deadline."""
        try:
            version = job.resource_version
            await self._client.delete(
                JOBS, job.name, warmup.namespace, uid=job.uid, resource_version=version, propagation="Background"
            )
        except KubeError as error:
            log.info("a cleanup Job is left to its time to live", job=job.name, error=error.message)

    async def _release(self, warmup: Warmup, reason: str, evidence: dict[str, list[str]]) -> None:
        async def release() -> Result:
            return await self._set_finalizer(warmup, wanted=False)

        outcome, error = await self._context.auditor.carry_out(
            release,
            actor=ACTOR,
            action="release",
            subject=Subject("Warmup", warmup.namespace, warmup.name, warmup.uid),
            reason=reason,
            evidence=evidence,
        )
        if outcome is not AuditOutcome.DONE:
            raise Unavailable(f"the finalizer of {warmup.key} is not released yet: {error}", fix="it is tried again")

    async def _set_finalizer(self, warmup: Warmup, wanted: bool) -> Result:
        """Read anew, and fenced on what was read: finalizers of others stay."""
        try:
            meta = (await self._client.get(WARMUPS, warmup.name, warmup.namespace)).metadata
        except ObjectNotFound:
            return DONE
        others = [name for name in meta.finalizers if name != names.WARM_DATA_FINALIZER]
        finalizers = [*others, names.WARM_DATA_FINALIZER] if wanted else others
        if meta.uid != warmup.uid or sorted(finalizers) == sorted(meta.finalizers):
            return DONE
        if wanted and meta.deletion_timestamp is not None:
            return DONE  # none can be added any more; the deletion is seen in a moment
        patch = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": finalizers}}
        await self._client.merge_patch(WARMUPS, warmup.name, patch, warmup.namespace)
        return DONE

    async def _note(self, warmup: Warmup, reason: str, message: str, occasion: str) -> None:
        subject = Subject("Warmup", warmup.namespace, warmup.name, warmup.uid)
        kind: Literal["Normal", "Warning"] = "Normal" if reason == "DataRemoved" else "Warning"
        self._events.record(EventNote(subject, names.API_VERSION, reason, message[:_LONGEST_MESSAGE], occasion, kind))


def _is_ours(job: Job, warmup: Warmup) -> bool:
    return job.metadata.labels.get(names.RECLAIM) == warmup.uid

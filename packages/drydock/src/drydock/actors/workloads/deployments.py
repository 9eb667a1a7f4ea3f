"""The Deployment controller: rolls from one ReplicaSet to the next, scales, pauses, remembers revisions."""

from collections.abc import Sequence

from drydock.actors.machinery.events import Broadcaster, Note, Weight
from drydock.actors.machinery.informers import BY_CONTROLLER, BY_NAMESPACE, ORPHANS, Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import (
    Key,
    Object,
    annotations_of,
    controller_of,
    controller_reference,
    controller_uid,
    find_condition,
    is_terminating,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.own_writes import OwnWrites
from drydock.actors.machinery.pods import is_finished
from drydock.actors.workloads.rollout import (
    HASH_LABEL,
    REVISION,
    Scale,
    canonical,
    first_size,
    is_rolling,
    is_scaling,
    plan_cleanup,
    plan_rolling,
    plan_scaling,
    replicas_of,
    revision_of,
    set_annotations,
    size_annotations,
    split_sets,
    template_hash,
)
from drydock.actors.workloads.rollout_status import (
    compute_rollout_status,
    compute_status,
    has_deadline,
    is_complete,
    next_progress_check,
    with_condition,
)
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import AlreadyExists, KubeError, ObjectNotFound
from hawser.fitting.selectors import compile_selector
from hawser.resources import DEPLOYMENTS, REPLICASETS

_DEPLOYMENTS = DEPLOYMENTS.raw()
_SETS = REPLICASETS.raw()


class DeploymentController:
    """Keeps Deployments true to their template and size."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock, events: Broadcaster) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._recorder = events.recorder("deployment-controller")
        self._own_writes = OwnWrites(clock)
        self._own_sets = OwnWrites(clock)
        self.loop: ReconcileLoop[Key] = ReconcileLoop("deployments", self._reconcile, clock)
        informers.deployments.subscribe(self._on_deployment)
        informers.replica_sets.subscribe(self._on_set)
        informers.pods.subscribe(self._on_pod)

    # -- what happened

    def _on_deployment(self, change: Change[Object]) -> None:
        one = change.latest
        if change.new is None:
            self._own_writes.forget_owner(uid_of(one))
            self._own_sets.forget_owner(uid_of(one))
        self.loop.add(key_of(one))

    def _on_set(self, change: Change[Object]) -> None:
        for one in (change.old, change.new):
            owner = controller_of(one) if one is not None else None
            if one is not None and owner is not None and owner.get("kind") == "Deployment":
                if change.new is None:
                    self._own_sets.gone(owner["uid"], uid_of(one))
                self.loop.add((namespace_of(one), owner["name"]))
        if change.new is not None and not controller_uid(change.new):
            for deployment in self._informers.deployments.cache.by_index(BY_NAMESPACE, namespace_of(change.new)):
                if compile_selector(spec_of(deployment).get("selector"))(labels_of(change.new)):
                    self.loop.add(key_of(deployment))

    def _on_pod(self, change: Change[Object]) -> None:
        """Recreate waits until the last old pod is really gone; nothing else here looks at pods."""
        if change.new is not None or change.old is None:
            return
        owner = controller_of(change.old)
        if owner is None or owner.get("kind") != "ReplicaSet":
            return
        replica_set = self._informers.replica_sets.cache.get(namespace_of(change.old), owner["name"])
        grand = controller_of(replica_set) if replica_set is not None else None
        if grand is not None and grand.get("kind") == "Deployment":
            self.loop.add((namespace_of(change.old), grand["name"]))

    # -- what to do

    async def _reconcile(self, key: Key) -> float | None:
        cached = self._informers.deployments.cache.get(*key)
        if cached is None:
            return None
        deployment = self._own_writes.over(uid_of(cached), [cached])[0]
        sets = await self._claim_sets(deployment)
        if is_terminating(deployment):
            new, olds = split_sets(deployment, sets)
            return await self._report(deployment, compute_status(deployment, new, olds, self._clock.now()))
        deployment = await self._note_pause(deployment)
        deployment, new, olds = await self._current_set(deployment, sets)
        if spec_of(deployment).get("paused") or is_scaling(deployment, [*olds, *([new] if new else [])]):
            return await self._resize(deployment, new, olds)
        if is_rolling(deployment):
            return await self._roll(deployment, new, olds)
        return await self._recreate(deployment, new, olds)

    async def _resize(self, deployment: Object, new: Object | None, olds: Sequence[Object]) -> float | None:
        for scale in plan_scaling(deployment, new, olds):
            await self._scale(deployment, scale)
        if spec_of(deployment).get("paused"):
            await self._clean_up(deployment, olds)
        new, olds = split_sets(deployment, self._sets_of(deployment))
        return await self._report(deployment, compute_status(deployment, new, olds, self._clock.now()))

    async def _roll(self, deployment: Object, new: Object | None, olds: Sequence[Object]) -> float | None:
        if new is None:
            deployment, new = await self._create_set(deployment, olds)
        scales = plan_rolling(deployment, new, olds)
        for scale in scales:
            await self._scale(deployment, scale)
        if not scales and is_complete(deployment, status_of(deployment)):
            await self._clean_up(deployment, olds)
        return await self._report_rollout(deployment)

    async def _recreate(self, deployment: Object, new: Object | None, olds: Sequence[Object]) -> float | None:
        active = [one for one in olds if replicas_of(one) > 0]
        for one in active:
            await self._scale(deployment, Scale(one, 0))
        if active or self._old_pods_run(olds):
            return await self._report_rollout(deployment)
        if new is None:
            deployment, new = await self._create_set(deployment, olds)
        if replicas_of(new) != replicas_of(deployment):
            await self._scale(deployment, Scale(new, replicas_of(deployment)))
        if is_complete(deployment, status_of(deployment)):
            await self._clean_up(deployment, olds)
        return await self._report_rollout(deployment)

    def _old_pods_run(self, olds: Sequence[Object]) -> bool:
        return any(
            status_of(one).get("replicas", 0) > 0
            or any(not is_finished(pod) for pod in self._informers.pods.cache.by_index(BY_CONTROLLER, uid_of(one)))
            for one in olds
        )

    # -- ReplicaSets

    def _sets_of(self, deployment: Object) -> list[Object]:
        uid = uid_of(deployment)
        return self._own_sets.over(uid, self._informers.replica_sets.cache.by_index(BY_CONTROLLER, uid))

    async def _claim_sets(self, deployment: Object) -> list[Object]:
        sets = self._sets_of(deployment)
        known = {uid_of(one) for one in sets}
        matches = compile_selector(spec_of(deployment).get("selector"))
        orphans = [
            one
            for one in self._informers.replica_sets.cache.by_index(ORPHANS, namespace_of(deployment))
            if uid_of(one) not in known and matches(labels_of(one)) and not is_terminating(one)
        ]
        if is_terminating(deployment) or not orphans or not await self._is_alive(deployment):
            return sets
        for one in orphans:
            reference = controller_reference(deployment, _DEPLOYMENTS.api_version, _DEPLOYMENTS.kind)
            patch = {"metadata": {"uid": uid_of(one), "ownerReferences": [*owners_of(one), reference]}}
            sets.append(await self._patch_set(deployment, one, patch))
        return sets

    async def _is_alive(self, deployment: Object) -> bool:
        try:
            fresh = await self._client.get(_DEPLOYMENTS, name_of(deployment), namespace_of(deployment))
        except ObjectNotFound:
            return False
        return uid_of(fresh) == uid_of(deployment) and not is_terminating(fresh)

    async def _current_set(
        self, deployment: Object, sets: Sequence[Object]
    ) -> tuple[Object, Object | None, list[Object]]:
        """The ReplicaSet of the current template with its annotations right, and the others."""
        new, olds = split_sets(deployment, sets)
        if new is None:
            return deployment, None, olds
        revision = max((revision_of(one) for one in olds), default=0) + 1
        annotations = set_annotations(deployment, annotations_of(new), revision)
        min_ready = spec_of(deployment).get("minReadySeconds", 0)
        if annotations != annotations_of(new) or spec_of(new).get("minReadySeconds", 0) != min_ready:
            patch = {"metadata": {"annotations": annotations}, "spec": {"minReadySeconds": min_ready}}
            new = await self._patch_set(deployment, new, patch)
        deployment = await self._note_revision(deployment, annotations_of(new).get(REVISION, ""))
        if has_deadline(deployment) and find_condition(status_of(deployment).get("conditions"), "Progressing") is None:
            told = ("True", "FoundNewReplicaSet", f'Found new replica set "{name_of(new)}"')
            deployment = await self._progress(deployment, *told)
        return deployment, new, olds

    async def _create_set(self, deployment: Object, olds: Sequence[Object]) -> tuple[Object, Object]:
        template = spec_of(deployment)["template"]
        digest = template_hash(template, status_of(deployment).get("collisionCount") or 0)
        body = self._set_body(deployment, olds, digest)
        name = body["metadata"]["name"]
        try:
            new = await self._client.create(_SETS, body)
        except AlreadyExists:
            new = await self._client.get(_SETS, name, namespace_of(deployment))
            if controller_uid(new) != uid_of(deployment) or canonical(spec_of(new)["template"]) != canonical(template):
                collisions = (status_of(deployment).get("collisionCount") or 0) + 1
                await self._write_status(deployment, {**status_of(deployment), "collisionCount": collisions})
                raise
            self._own_sets.wrote(uid_of(deployment), new)
            return deployment, new
        except KubeError as error:
            message = f'Failed to create new replica set "{name}": {error.message}'
            if has_deadline(deployment):
                await self._progress(deployment, "False", "ReplicaSetCreateError", message)
            self._tell(deployment, "Warning", "ReplicaSetCreateError", message)
            raise
        self._own_sets.wrote(uid_of(deployment), new)
        if replicas_of(new) > 0:
            message = f"Scaled up replica set {name} from 0 to {replicas_of(new)}"
            self._tell(deployment, "Normal", "ScalingReplicaSet", message)
        deployment = await self._note_revision(deployment, annotations_of(new)[REVISION])
        if has_deadline(deployment):
            told = ("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
            deployment = await self._progress(deployment, *told)
        return deployment, new

    def _set_body(self, deployment: Object, olds: Sequence[Object], digest: str) -> Object:
        spec = spec_of(deployment)
        template = spec["template"]
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: digest}
        selector = spec["selector"]
        revision = max((revision_of(one) for one in olds), default=0) + 1
        return {
            "metadata": {
                "name": f"{name_of(deployment)[: 252 - len(digest)]}-{digest}",
                "namespace": namespace_of(deployment),
                "labels": labels,
                "annotations": {**set_annotations(deployment, {}, revision), **size_annotations(deployment)},
                "ownerReferences": [controller_reference(deployment, _DEPLOYMENTS.api_version, _DEPLOYMENTS.kind)],
            },
            "spec": {
                "replicas": first_size(deployment, 0, sum(replicas_of(one) for one in olds)),
                "minReadySeconds": spec.get("minReadySeconds", 0),
                "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: digest}},
                "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
            },
        }

    async def _scale(self, deployment: Object, scale: Scale) -> None:
        before = replicas_of(scale.replica_set)
        annotations = size_annotations(deployment)
        if before == scale.replicas and annotations.items() <= annotations_of(scale.replica_set).items():
            return
        patch = {"metadata": {"annotations": annotations}, "spec": {"replicas": scale.replicas}}
        await self._patch_set(deployment, scale.replica_set, patch)
        if before != scale.replicas:
            direction = "up" if before < scale.replicas else "down"
            message = f"Scaled {direction} replica set {name_of(scale.replica_set)} from {before} to {scale.replicas}"
            self._tell(deployment, "Normal", "ScalingReplicaSet", message)

    async def _patch_set(self, deployment: Object, one: Object, patch: Object) -> Object:
        metadata = {**patch.get("metadata", {}), "resourceVersion": one["metadata"]["resourceVersion"]}
        patched = await self._client.merge_patch(
            _SETS, name_of(one), {**patch, "metadata": metadata}, namespace_of(one)
        )
        self._own_sets.wrote(uid_of(deployment), patched)
        return patched

    async def _clean_up(self, deployment: Object, olds: Sequence[Object]) -> None:
        for one in plan_cleanup(deployment, olds):
            try:
                await self._client.delete(
                    _SETS, name_of(one), namespace_of(one), uid=uid_of(one), propagation="Background"
                )
            except ObjectNotFound:
                continue

    # -- the Deployment itself

    async def _note_pause(self, deployment: Object) -> Object:
        """While paused no time counts towards the progress deadline."""
        current = find_condition(status_of(deployment).get("conditions"), "Progressing") or {}
        if not has_deadline(deployment) or current.get("reason") == "ProgressDeadlineExceeded":
            return deployment
        noted = current.get("reason") == "DeploymentPaused"
        if bool(spec_of(deployment).get("paused")) == noted:
            return deployment
        if noted:
            return await self._progress(deployment, "Unknown", "DeploymentResumed", "Deployment is resumed")
        return await self._progress(deployment, "Unknown", "DeploymentPaused", "Deployment is paused")

    async def _note_revision(self, deployment: Object, revision: str) -> Object:
        if not revision or annotations_of(deployment).get(REVISION) == revision:
            return deployment
        patch = {"metadata": {"uid": uid_of(deployment), "annotations": {REVISION: revision}}}
        noted = await self._client.merge_patch(_DEPLOYMENTS, name_of(deployment), patch, namespace_of(deployment))
        self._own_writes.wrote(uid_of(deployment), noted)
        return noted

    async def _progress(self, deployment: Object, status: str, reason: str, message: str) -> Object:
        conditions = status_of(deployment).get("conditions") or ()
        changed = with_condition(conditions, "Progressing", status, reason, message, self._clock.now())
        return await self._write_status(deployment, {**status_of(deployment), "conditions": changed})

    async def _report_rollout(self, deployment: Object) -> float | None:
        new, olds = split_sets(deployment, self._sets_of(deployment))
        return await self._report(deployment, compute_rollout_status(deployment, new, olds, self._clock.now()))

    async def _report(self, deployment: Object, status: Object) -> float | None:
        if status != status_of(deployment):
            deployment = await self._write_status(deployment, status)
        return next_progress_check(deployment, status, self._clock.now())

    async def _write_status(self, deployment: Object, status: Object) -> Object:
        written = await self._client.update(_DEPLOYMENTS, {**deployment, "status": status}, subresource="status")
        self._own_writes.wrote(uid_of(deployment), written)
        return written

    def _tell(self, deployment: Object, weight: Weight, reason: str, message: str) -> None:
        self._recorder.record(Note(deployment, "Deployment", _DEPLOYMENTS.api_version, weight, reason, message))

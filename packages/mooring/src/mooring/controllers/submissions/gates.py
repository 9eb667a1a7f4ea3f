"""Looking before anything is made: each gate is read live, and what cannot be read is unknown."""

from typing import Any

from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import CONFIGMAPS, DEPLOYMENTS, JOBS, PODS, RESOURCEQUOTAS, SERVICEACCOUNTS, Resource
from mooring.controllers.submissions.dry_run import DryRun
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.controllers.submissions.inheritance import read_inheritance
from mooring.controllers.submissions.manifests import pod_manifest
from mooring.engine.absence import live_uid
from mooring.engine.context import Context
from mooring.kinds.resources import WARMUPS
from mooring.kinds.views import Submission
from mooring.model.node import Node
from mooring.model.placement import Placement
from mooring.model.submission import ENDED, STARTED, Phase, Step, SubmissionSpec, name_for, steps_of
from mooring.model.submission_checks import check_submission, check_submission_name
from mooring.planning.fit import UNREAD, preflight
from mooring.planning.submissions.gates import WARM, Findings, Quota, Site
from mooring.planning.submissions.plan import Pinned


class GateReader:
    """Reads what the gates judge."""

    def __init__(self, context: Context, informer: SubmissionInformer) -> None:
        self._client = context.client
        self._nodes = context.nodes
        self._informer = informer
        self._dry_run = DryRun(context)

    def forget(self, key: str) -> None:
        """The submission has ended, or is gone."""
        self._dry_run.forget(key)

    async def read(self, view: Submission) -> Findings:
        """Everything, unless the spec itself is wrong: then nothing else is asked."""
        problems = find_problems(view)
        if problems:
            return Findings(view.metadata.namespace, problems=problems)
        namespace, spec = view.metadata.namespace, view.spec
        placements = (spec.placement_of(step.step) for step in steps_of(spec))
        distinct = {repr(placement): placement for placement in placements}
        inherited = await read_inheritance(self._client, namespace, spec.inherit_env)
        warmups = {name: await self._warmup(namespace, name) for name in warmups_of(spec)}
        return Findings(
            namespace=namespace,
            config_maps=await self.config_maps(namespace, spec),
            warmups={name: phase for name, (phase, _) in warmups.items()},
            shards={name: shards for name, (_, shards) in warmups.items()},
            sites=tuple(self._look(namespace, spec, placement) for placement in distinct.values()),
            accounts=await self._accounts(namespace, spec),
            permissions=await self._permissions(namespace, spec),
            quotas=await self._quotas(namespace),
            inheritance=inherited.problem,
            not_inherited=inherited.left_out,
            refusal=await self._dry_run.refusal(view, inherited),
            key_holder=self._key_holder(view),
        )

    def _look(self, namespace: str, spec: SubmissionSpec, placement: Placement) -> Site:
        placed = self._nodes.place(placement, namespace)
        if placed.problem:
            return Site(placed)
        container = {"name": "main", **({"resources": spec.resources} if spec.resources else {})}
        pod = pod_manifest(spec, {}, container, placed)["spec"]
        nodes, templates = self._nodes.by_name.values(), self._nodes.templates
        return Site(placed, preflight(pod, nodes, UNREAD, templates, namespace=namespace))

    async def config_maps(self, namespace: str, spec: SubmissionSpec) -> dict[str, bool | None]:
        """Whether each required ConfigMap exists; None when that is unknown."""
        return {name: await self._exists(CONFIGMAPS, namespace, name) for name in spec.requires.config_maps}

    async def pins(self, namespace: str, spec: SubmissionSpec, steps: dict[str, Step]) -> dict[str, Pinned]:
        """For steps that name a shard: the nodes that hold it warm, alive and the same as then."""
        wished = {name: (step.placement or spec.placement).warmup for name, step in steps.items() if _names_shard(step)}
        held = {warmup: await self._shards(namespace, warmup) for warmup in set(wished.values()) if warmup}
        return {name: _pin(warmup, steps[name].shard, held.get(warmup)) for name, warmup in wished.items()}

    async def _shards(self, namespace: str, warmup: str) -> dict[int, dict[str, str]] | None:
        try:
            found = await self._client.get(WARMUPS, warmup, namespace)
        except KubeError:
            return None
        shards: dict[int, dict[str, str]] = {}
        for shard in found.status.shards:
            name, uid = shard.holder
            node = self._nodes.by_name.get(name)
            if shard.warm and node is not None and _usable(node) and node.uid == uid:
                shards.setdefault(shard.shard, {})[node.name] = node.uid
        return shards

    async def _accounts(self, namespace: str, spec: SubmissionSpec) -> dict[str, bool | None]:
        """Only one that is named: the namespace's default account is made by the cluster."""
        name = spec.account
        return {name: await self._exists(SERVICEACCOUNTS, namespace, name)} if name else {}

    async def _exists(self, resource: Resource[Any], namespace: str, name: str) -> bool | None:
        found = await live_uid(self._client, resource, name, namespace)
        return None if found is None else bool(found)

    async def _warmup(self, namespace: str, name: str) -> tuple[str | None, int | None]:
        """The phase of a Warmup and the number of its shards; with mode Broadcast, the number of its nodes."""
        try:
            found = await self._client.get(WARMUPS, name, namespace)
        except ObjectNotFound:
            return "", None
        except KubeError:
            return None, None
        phase = found.status.phase or "Pending"
        if found.spec.mode == "Shard":
            return phase, found.spec.shards
        return phase, len(found.status.shards) if phase == WARM else None

    async def _permissions(self, namespace: str, spec: SubmissionSpec) -> dict[str, bool | None]:
        needed: list[tuple[str, Resource[Any], str]] = [
            ("create", JOBS, ""),
            ("delete", JOBS, ""),
            ("get", PODS, "log"),
        ]
        if spec.scripts:
            needed.append(("create", CONFIGMAPS, ""))
        if spec.inherit_env is not None:
            needed.append(("get", DEPLOYMENTS, ""))
        answers: dict[str, bool | None] = {}
        for verb, resource, subresource in needed:
            what = f"{verb} {resource.plural}{'/' + subresource if subresource else ''}"
            try:
                answer = await self._client.can_i(verb, resource, namespace=namespace, subresource=subresource)
                answers[what] = answer.allowed
            except KubeError:
                answers[what] = None
        return answers

    async def _quotas(self, namespace: str) -> tuple[Quota, ...] | None:
        try:
            found = (await self._client.list(RESOURCEQUOTAS, namespace)).items
        except KubeError:
            return None
        return tuple(Quota(one.metadata.name, one.status.hard or one.spec.hard, one.status.used) for one in found)

    def _key_holder(self, view: Submission) -> str:
        """Another submission under this key that came first, runs already or has ended: its Jobs have the names."""
        meta = view.metadata
        for other in self._informer.submissions:
            same = other.metadata.namespace == meta.namespace and other.spec.key == view.spec.key
            if not same or other.metadata.uid == meta.uid:
                continue
            theirs, ours = _precedence(other), _precedence(view)
            if theirs < ours:
                return f"{other.metadata.name}, which is {other.status.phase or Phase.PENDING}"
        return ""


def find_problems(view: Submission) -> tuple[str, ...]:
    """Why a submission must not be acted on; empty when it may."""
    problems = [*view.defects, *(str(problem) for problem in check_submission(view.spec))]
    problems += [str(problem) for problem in check_submission_name(view.metadata.name)]
    return tuple(problems)


def warmups_of(spec: SubmissionSpec) -> tuple[str, ...]:
    """Those that are required, and those that steps are placed by."""
    placed = [step.step.placement.warmup for step in steps_of(spec) if step.step.placement is not None]
    return tuple(sorted({*spec.requires.warmups, spec.placement.warmup, *placed} - {""}))


def _names_shard(step: Step) -> bool:
    return step.shard is not None


def _pin(warmup: str, shard: int | None, shards: dict[int, dict[str, str]] | None) -> Pinned:
    if shards is None:
        return Pinned(problem=f"the Warmup {warmup} could not be read")
    nodes = shards.get(-1 if shard is None else shard)
    return Pinned(nodes) if nodes else Pinned(problem=f"shard {shard} of {warmup} is warm on no live node")


def _usable(node: Node) -> bool:
    return node.ready and not node.draining_because


def _precedence(view: Submission) -> tuple[bool, bool, str, str]:
    """Who has a key: one that has begun, then the one that is named after it, then the older one."""
    created = view.metadata.creation_timestamp
    begun = view.status.phase in STARTED | ENDED
    named = view.metadata.name == name_for(view.spec.key)
    return (not begun, not named, created.isoformat() if created else "", view.metadata.uid)

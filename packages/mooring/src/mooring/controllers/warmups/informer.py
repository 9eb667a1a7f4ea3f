"""Warmups, their Jobs and pods as the cluster shows them now, in Mooring's own words, by dataset."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from hawser import views
from hawser.cache import Change
from hawser.resources import CONFIGMAPS, JOBS, PODS
from mooring.controllers.warmups.translation import cleanup_from_view, job_from_view, pod_from_view, warmup_from_view
from mooring.engine.context import Context
from mooring.engine.informer import Informer, watch_pace
from mooring.engine.nodes.informer import NODE
from mooring.kinds import views as kinds
from mooring.kinds.resources import WARMUPS
from mooring.model import names
from mooring.model.errors import NotFound
from mooring.model.suggestions import suggest
from mooring.model.warm_job import WarmJob, WarmPod
from mooring.model.warmup import Warmup
from mooring.planning.warmups.jobs import data_path, dataset_label
from mooring.planning.warmups.nodes import NodeSurvey, is_unfit, since_outside, survey_nodes, with_outside
from mooring.planning.warmups.reclaim import CleanupJob, find_sharing, folders_of
from mooring.planning.warmups.warm_nodes import warm_nodes

Dataset = tuple[str, str]  # namespace and the dataset's label


class WarmupInformer(Informer):
    """Caches, translated once a change."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.client, context.clock, context.entropy, watch_pace(context.timeouts))
        self._debounce = timedelta(seconds=context.timeouts.node_debounce)
        self._nodes = context.nodes
        self._warmups = self.reflect("warmups", WARMUPS)
        self._jobs = self.reflect("warm-jobs", JOBS, label_selector=names.DATASET)
        self._pods = self.reflect("warm-pods", PODS, label_selector=names.DATASET)
        self._cleanups = self.reflect("cleanup-jobs", JOBS, label_selector=names.RECLAIM)
        self._scripts = self.reflect("warm-scripts", CONFIGMAPS, label_selector=names.SCRIPTS)
        self._by_key: dict[str, Warmup] = {}
        self._by_dataset: dict[Dataset, dict[str, Warmup]] = defaultdict(dict)
        self._jobs_of: dict[Dataset, dict[str, WarmJob]] = defaultdict(dict)  # by name
        self._datasets_of: dict[str, set[Dataset]] = {}  # by the uid of the Warmup that owns Jobs there
        self._key_of: dict[str, str] = {}  # by the Warmup's uid
        self._pods_of: dict[Dataset, dict[str, WarmPod]] = defaultdict(dict)  # by the Job's uid
        self._unfit: dict[str, datetime] = {}
        self._outside: dict[str, dict[str, datetime]] = {}  # by Warmup and node uid
        self._grounds: dict[str, tuple[int, int, NodeSurvey]] = {}
        self._load: Counter[str] = Counter()
        self._warmups.subscribe(self._on_warmup)
        self._jobs.subscribe(self._on_job)
        self._pods.subscribe(self._on_pod)
        self._cleanups.subscribe(self._on_cleanup)
        self._scripts.subscribe(self._on_scripts)
        self._nodes.subscribe(self._on_node)

    @property
    def warmups(self) -> Mapping[str, Warmup]:
        return self._by_key

    def warmup(self, key: str) -> Warmup | None:
        return self._by_key.get(key)

    def version(self, warmup: Warmup) -> int:
        """The resourceVersion of a Warmup as cached."""
        view = self._warmups.cache.get(warmup.namespace, warmup.name)
        return int(view.metadata.resource_version) if view is not None else 0

    @property
    def job_version(self) -> int:
        """How new the view of Jobs is."""
        return self._jobs.version

    def find(self, namespace: str, name: str) -> Warmup:
        """One Warmup as cached, or `NotFound` naming those that exist."""
        key = f"{namespace}/{name}"
        warmup = self._by_key.get(key)
        if warmup is None:
            raise NotFound(f"there is no warmup {key}", fix=suggest(key, self._by_key, "warmups"))
        return warmup

    def warm_nodes(self, namespace: str, name: str) -> tuple[str, ...] | None:
        """The nodes on which a Warmup is warm now, by name; None when there is no such Warmup."""
        warmup = self._by_key.get(f"{namespace}/{name}")
        return warm_nodes(warmup.status, self._nodes.by_name) if warmup is not None else None

    def older(self, warmup: Warmup) -> list[str]:
        """Warmups of the same namespace that hold the same dataset since before."""
        rivals = self._by_dataset.get(_dataset(warmup), {}).values()
        rank = (warmup.created_at, warmup.name)
        return sorted(rival.name for rival in rivals if (rival.created_at, rival.name) < rank and not rival.terminating)

    def jobs(self, warmup: Warmup) -> tuple[WarmJob, ...]:
        """All Jobs with the dataset's label, and its own of a dataset that it had before, by name."""
        held = self._jobs_of.get(_dataset(warmup), {})
        former = self._datasets_of.get(warmup.uid, set()) - {_dataset(warmup)}
        if former:
            left = [job for place in former for job in self._jobs_of[place].values() if job.owner_uid == warmup.uid]
            held = {**{job.name: job for job in left}, **held}
        return tuple(held[name] for name in sorted(held))

    def cleanups(self, warmup: Warmup) -> Mapping[str, CleanupJob]:
        """The Jobs that remove its data, by name."""
        found = (job for job in self._cleanups.cache.values() if job.metadata.labels[names.RECLAIM] == warmup.uid)
        return {
            job.metadata.name: cleanup_from_view(job) for job in found if job.metadata.namespace == warmup.namespace
        }

    def folders(self, warmup: Warmup) -> Mapping[str, frozenset[str]]:
        """Where other Warmups, in any namespace, keep data on nodes, by key; those being deleted do not count."""
        others = (one for one in self._by_key.values() if one.uid != warmup.uid and not one.terminating)
        return {other.key: folders_of(other) for other in others}

    def cleaned_by(self, warmup: Warmup) -> str:
        """A Warmup that is being deleted and whose data is removed from the folder of this one."""
        leaving = (
            one for one in self._by_key.values() if one.terminating and names.WARM_DATA_FINALIZER in one.finalizers
        )
        mine = {warmup.key: {data_path(warmup.spec)}}
        return next((one.key for one in leaving if any(find_sharing(path, mine) for path in folders_of(one))), "")

    def pods(self, warmup: Warmup) -> Mapping[str, WarmPod]:
        """The latest pod of each Job now, by the Job's uid."""
        return dict(self._pods_of.get(_dataset(warmup), {}))

    def pod_view(self, pod: WarmPod) -> views.Pod | None:
        return self._pods.cache.get(pod.namespace, pod.name)

    def scripts(self, namespace: str, name: str) -> views.ConfigMap | None:
        return self._scripts.cache.get(namespace, name)

    def survey(self, warmup: Warmup, jobs: Iterable[WarmJob]) -> NodeSurvey:
        """The nodes as this Warmup, with these Jobs, sees them; surveyed again only when nodes or its spec changed."""
        known = self._grounds.get(warmup.key)
        changes = self._nodes.changes
        if known is None or known[:2] != (warmup.generation, changes):
            survey = survey_nodes(warmup.spec, self._nodes.by_name, self._unfit, self._clock.now(), self._debounce)
            known = self._grounds[warmup.key] = (warmup.generation, changes, survey)
        survey = replace(known[2], now=self._clock.now().replace(microsecond=0), unfit_since=self._unfit)
        held = {shard.node_uid for shard in warmup.status.shards} | {job.node_uid for job in jobs}
        outside = self._outside[warmup.key] = since_outside(held, survey, self._outside.get(warmup.key, {}))
        return with_outside(survey, outside)

    @property
    def load(self) -> Mapping[str, int]:
        """How many shards each node holds now, by uid."""
        return dict(self._load)

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._grounds.pop(key, None)
        self._outside.pop(key, None)

    def _on_warmup(self, change: Change[kinds.Warmup]) -> None:
        view = change.latest
        key = view.metadata.key
        if (before := self._by_key.pop(key, None)) is not None:
            self._key_of.pop(before.uid, None)
            self._by_dataset[_dataset(before)].pop(key, None)
            self._load.subtract(shard.node_uid for shard in before.status.shards)
            if change.new is None:
                for rival in list(self._by_key) if before.finalizers else self._by_dataset[_dataset(before)]:
                    self._notify("warmup", rival)
        if change.new is not None:
            warmup = self._by_key[key] = warmup_from_view(change.new)
            self._key_of[warmup.uid] = key
            self._by_dataset[_dataset(warmup)][key] = warmup
            self._load.update(shard.node_uid for shard in warmup.status.shards)
        self._notify("warmup", key)

    def _on_job(self, change: Change[views.Job]) -> None:
        job = job_from_view(change.latest)
        if change.old is not None:
            before = change.old.metadata.labels.get(names.DATASET, "")
            if change.new is None or before != job.dataset:
                self._let_go(replace(job, dataset=before))
        if change.new is not None:
            self._hold(job)
        message = {*self._by_dataset.get((job.namespace, job.dataset), ()), self._key_of.get(job.owner_uid, "")}
        for key in sorted(message - {""}):
            self._notify("warmup", key)

    def _hold(self, job: WarmJob) -> None:
        place = (job.namespace, job.dataset)
        self._jobs_of[place][job.name] = job
        if job.owner_uid:
            self._datasets_of.setdefault(job.owner_uid, set()).add(place)

    def _let_go(self, job: WarmJob) -> None:
        place = (job.namespace, job.dataset)
        held = self._jobs_of[place]
        if job.name in held and held[job.name].uid == job.uid:
            del held[job.name]
        owned = self._datasets_of.get(job.owner_uid, set())
        if not any(other.owner_uid == job.owner_uid for other in held.values()):
            owned.discard(place)
        if not owned:
            self._datasets_of.pop(job.owner_uid, None)

    def _on_pod(self, change: Change[views.Pod]) -> None:
        view = change.latest
        pod = pod_from_view(view)
        if pod is None:
            return
        dataset = (pod.namespace, view.metadata.labels.get(names.DATASET, ""))
        held = self._pods_of[dataset]
        known = held.get(pod.job_uid)
        if change.new is None:
            if known is not None and known.uid == pod.uid:
                del held[pod.job_uid]
        elif known == pod or (known is not None and known.created_at > pod.created_at):
            return
        else:
            held[pod.job_uid] = pod
        self._notify_dataset(dataset)

    def _on_cleanup(self, change: Change[views.Job]) -> None:
        if key := self._key_of.get(change.latest.metadata.labels.get(names.RECLAIM, "")):
            self._notify("warmup", key)

    def _on_scripts(self, change: Change[views.ConfigMap]) -> None:
        view = change.latest
        for warmup in list(self._by_key.values()):
            if warmup.namespace == view.metadata.namespace:
                self._notify("warmup", warmup.key)

    def _on_node(self, kind: str, name: str) -> None:
        if kind != NODE:
            return
        nodes = self._nodes.by_name
        node = nodes.get(name)
        if node is not None and is_unfit(node):
            since = node.ready_since if not node.ready and node.ready_since else self._clock.now()
            self._unfit = {node.uid: since, **self._unfit}  # a new mapping: surveys keep the one they have
        else:
            present = {each.uid for each in nodes.values()} - {node.uid if node else ""}
            self._unfit = {uid: since for uid, since in self._unfit.items() if uid in present}
        for key in list(self._by_key):
            self._notify("warmup", key)

    def _notify_dataset(self, dataset: Dataset) -> None:
        for key in list(self._by_dataset.get(dataset, ())):
            self._notify("warmup", key)


def _dataset(warmup: Warmup) -> Dataset:
    return (warmup.namespace, dataset_label(warmup.spec.dataset))

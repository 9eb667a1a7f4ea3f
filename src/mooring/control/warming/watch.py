"""Warmups, their Jobs and pods as the cluster shows them now, in Mooring's own words, by dataset."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec

from mooring.clock import Clock, Entropy
from mooring.control.fleet import Fleet, watch_pace
from mooring.control.warming.translation import job_from_view, pod_from_view, warmup_from_view
from mooring.control.watch import Watch
from mooring.kube import views
from mooring.kube.cache import Change
from mooring.kube.client import KubeClient
from mooring.kube.resources import CONFIGMAPS, JOBS, PODS, WARMUPS
from mooring.model import names
from mooring.model.timeouts import Timeouts
from mooring.model.warm_job import WarmJob, WarmPod
from mooring.model.warmup import Warmup, WarmupStatus
from mooring.planning.warmups.jobs import dataset_label
from mooring.planning.warmups.nodes import Ground, is_unfit, since_outside, survey, with_outside

Dataset = tuple[str, str]  # namespace and the dataset's label


class WarmupWatch(Watch):
    """Caches, translated once a change. Own writes show at once, and go again when the cluster does not know them."""

    def __init__(self, client: KubeClient, fleet: Fleet, clock: Clock, entropy: Entropy, timeouts: Timeouts) -> None:
        super().__init__(client, clock, entropy, watch_pace(timeouts))
        self._debounce = timedelta(seconds=timeouts.node_debounce)
        self._fleet = fleet
        self._warmups = self.reflect("warmups", WARMUPS)
        self._jobs = self.reflect("warm-jobs", JOBS, label_selector=names.DATASET)
        self._pods = self.reflect("warm-pods", PODS, label_selector=names.DATASET)
        self._scripts = self.reflect("warm-scripts", CONFIGMAPS, label_selector=names.SCRIPTS)
        self._by_key: dict[str, Warmup] = {}
        self._by_dataset: dict[Dataset, dict[str, Warmup]] = defaultdict(dict)
        self._jobs_of: dict[Dataset, dict[str, WarmJob]] = defaultdict(dict)  # by name
        self._datasets_of: dict[str, set[Dataset]] = {}  # by the uid of the Warmup that owns Jobs there
        self._key_of: dict[str, str] = {}  # by the Warmup's uid
        self._pods_of: dict[Dataset, dict[str, WarmPod]] = defaultdict(dict)  # by the Job's uid
        self._unseen: dict[str, int] = {}  # uid of Jobs of ours that the watch has not shown -> version
        self._written: dict[str, tuple[int, WarmupStatus]] = {}
        self._unfit: dict[str, datetime] = {}
        self._outside: dict[str, dict[str, datetime]] = {}  # by Warmup and node uid
        self._grounds: dict[str, tuple[int, int, Ground]] = {}
        self._load: Counter[str] = Counter()
        self._nodes_version = 0
        self._warmups.subscribe(self._on_warmup)
        self._jobs.subscribe(self._on_job)
        self._pods.subscribe(self._on_pod)
        self._scripts.subscribe(self._on_scripts)
        fleet.subscribe(self._on_fleet)

    # -- reading

    @property
    def warmups(self) -> Mapping[str, Warmup]:
        return self._by_key

    def warmup(self, key: str) -> Warmup | None:
        """A Warmup, with the status that was written last, even if the watch lags behind."""
        warmup = self._by_key.get(key)
        written = self._written.get(key)
        if warmup is None or written is None:
            return warmup
        view = self._warmups.cache.get(warmup.namespace, warmup.name)
        if view is None or int(view.metadata.resource_version) >= written[0]:
            del self._written[key]
            return warmup
        return msgspec.structs.replace(warmup, status=written[1])

    def older(self, warmup: Warmup) -> list[str]:
        """Warmups of the same namespace that hold the same dataset since before."""
        rivals = self._by_dataset.get(_dataset(warmup), {}).values()
        rank = (warmup.created_at, warmup.name)
        return sorted(rival.name for rival in rivals if (rival.created_at, rival.name) < rank and not rival.terminating)

    def jobs(self, warmup: Warmup) -> tuple[WarmJob, ...]:
        """All Jobs with the dataset's label, and its own of a dataset that it had before, by name."""
        held = self._jobs_of.get(_dataset(warmup), {})
        if self._unseen:
            self._drop_vanished(held)
        former = self._datasets_of.get(warmup.uid, set()) - {_dataset(warmup)}
        if former:
            left = [job for place in former for job in self._jobs_of[place].values() if job.owner_uid == warmup.uid]
            held = {**{job.name: job for job in left}, **held}
        return tuple(held[name] for name in sorted(held))

    def pods(self, warmup: Warmup) -> Mapping[str, WarmPod]:
        """The latest pod of each Job, by the Job's uid."""
        return self._pods_of.get(_dataset(warmup), {})

    def pod_view(self, pod: WarmPod) -> views.Pod | None:
        return self._pods.cache.get(pod.namespace, pod.name)

    def scripts(self, namespace: str, name: str) -> views.ConfigMap | None:
        return self._scripts.cache.get(namespace, name)

    def ground(self, warmup: Warmup) -> Ground:
        """The nodes with this Warmup's eyes; looked at again only when nodes or the order changed."""
        known = self._grounds.get(warmup.key)
        if known is None or known[:2] != (warmup.generation, self._nodes_version):
            ground = survey(warmup.spec, self._fleet.nodes, self._unfit, self._clock.now(), self._debounce)
            known = self._grounds[warmup.key] = (warmup.generation, self._nodes_version, ground)
        ground = replace(known[2], now=self._clock.now().replace(microsecond=0), unfit_since=self._unfit)
        held = {shard.node_uid for shard in warmup.status.shards}
        held.update(job.node_uid for job in self._jobs_of.get(_dataset(warmup), {}).values())
        outside = self._outside[warmup.key] = since_outside(held, ground, self._outside.get(warmup.key, {}))
        return with_outside(ground, outside)

    @property
    def load(self) -> Mapping[str, int]:
        """How many shards each node holds, by uid."""
        return self._load

    # -- own writes

    def expect_job(self, view: views.Job) -> None:
        """A Job was created: it counts before the watch shows it."""
        job = job_from_view(view)
        self._unseen[job.uid] = int(job.resource_version)
        self._hold(job)

    def expect_deletion(self, job: WarmJob) -> None:
        """A delete was accepted: the Job does not count any more, but its name is not free yet."""
        held = self._jobs_of.get((job.namespace, job.dataset), {})
        if job.name in held and held[job.name].uid == job.uid:
            held[job.name] = replace(held[job.name], deleting=True)

    def expect_status(self, key: str, version: int, status: WarmupStatus) -> None:
        """The status was written."""
        self._written[key] = (version, status)

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._written.pop(key, None)
        self._grounds.pop(key, None)
        self._outside.pop(key, None)

    def _drop_vanished(self, held: dict[str, WarmJob]) -> None:
        """Own creates that were deleted before the watch ever showed them."""
        seen = self._jobs.version
        for job in [job for job in held.values() if self._unseen.get(job.uid, seen + 1) <= seen]:
            del self._unseen[job.uid]
            view = self._jobs.cache.get(job.namespace, job.name)
            if view is None or view.metadata.uid != job.uid:
                del held[job.name]

    # -- what the watches tell

    def _on_warmup(self, change: Change[views.Warmup]) -> None:
        view = change.latest
        key = view.metadata.key
        if (before := self._by_key.pop(key, None)) is not None:
            self._key_of.pop(before.uid, None)
            self._by_dataset[_dataset(before)].pop(key, None)
            self._load.subtract(shard.node_uid for shard in before.status.shards)
            if change.new is None:
                for rival in self._by_dataset[_dataset(before)]:
                    self._tell("warmup", rival)
        if change.new is not None:
            warmup = self._by_key[key] = warmup_from_view(change.new)
            self._key_of[warmup.uid] = key
            self._by_dataset[_dataset(warmup)][key] = warmup
            self._load.update(shard.node_uid for shard in warmup.status.shards)
        self._tell("warmup", key)

    def _on_job(self, change: Change[views.Job]) -> None:
        job = job_from_view(change.latest)
        self._unseen.pop(job.uid, None)
        if change.old is not None:
            before = change.old.metadata.labels.get(names.DATASET, "")
            if change.new is None or before != job.dataset:
                self._let_go(replace(job, dataset=before))
        if change.new is not None:
            self._hold(job)
        told = {*self._by_dataset.get((job.namespace, job.dataset), ()), self._key_of.get(job.owner_uid, "")}
        for key in sorted(told - {""}):
            self._tell("warmup", key)

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
        self._tell_dataset(dataset)

    def _on_scripts(self, change: Change[views.ConfigMap]) -> None:
        view = change.latest
        for warmup in list(self._by_key.values()):
            if warmup.namespace == view.metadata.namespace:
                self._tell("warmup", warmup.key)

    def _on_fleet(self, kind: str, name: str) -> None:
        if kind != "node":
            return
        self._nodes_version += 1
        node = self._fleet.nodes.get(name)
        if node is not None and is_unfit(node):
            since = node.ready_since if not node.ready and node.ready_since else self._clock.now()
            self._unfit.setdefault(node.uid, since)
        else:
            present = {each.uid for each in self._fleet.nodes.values()} - {node.uid if node else ""}
            self._unfit = {uid: since for uid, since in self._unfit.items() if uid in present}
        for key in list(self._by_key):
            self._tell("warmup", key)

    def _tell_dataset(self, dataset: Dataset) -> None:
        for key in list(self._by_dataset.get(dataset, ())):
            self._tell("warmup", key)


def _dataset(warmup: Warmup) -> Dataset:
    return (warmup.namespace, dataset_label(warmup.spec.dataset))

"""Reading what explains a pod: the pod, its events, who is on the nodes, its volumes, its namespace's quotas.

On demand only, and each part for itself: what may not be read is said, and the rest is explained without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from hawser import views
from hawser.clock import Clock
from hawser.errors import KubeError, NotPermitted, ObjectNotFound
from hawser.fitting.needs import PodNeeds, read_needs
from hawser.fitting.volumes import BoundVolume, Unbound, class_name, classify_unbound, read_volume, volume_name
from hawser.quantity import parse_quantity
from hawser.resources import (
    EVENTS,
    NAMESPACES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    RESOURCEQUOTAS,
    STORAGECLASSES,
)
from mooring.model.errors import Forbidden, InvalidInput, NotFound
from mooring.model.evidence import Failure, clean_line
from mooring.model.explanation import Explanation, PodEvent
from mooring.planning.explanations.pods import PodFacts, Quota, container_in_trouble, explain_pod
from mooring.planning.fit import Usage, plan_preflight
from mooring.planning.fit.usage import read_residents
from mooring.queries.pods import PodQueries
from mooring.queries.sources import ClusterSource, NodeSource

T = TypeVar("T")
Body = dict[str, Any]
Residents = Mapping[str, tuple[PodNeeds, ...]]
GatherFailure = Callable[[views.Pod, views.ContainerStatus, str], Awaitable[Failure]]

WORDS_KEPT_SECONDS = 10.0
KEPT_SECONDS = 5.0  # that the list of all pods serves the next explanation too
_MOST_EVENTS = 50
_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"


class Explainer:
    """Explains any pod of the cluster."""

    def __init__(self, client: ClusterSource, nodes: NodeSource, clock: Clock, gather: GatherFailure) -> None:
        self._client = client
        self._nodes = nodes
        self._gather = gather
        self._clock = clock
        self._listing = asyncio.Lock()
        self._residents: tuple[float, Residents] | None = None
        self._last_words: dict[str, tuple[float, str]] = {}  # by pod
        self.pods = PodQueries(client, clock)

    async def explain(self, namespace: str, name: str) -> Explanation:
        """Why the pod runs or does not."""
        pod = await self._pod(namespace, name)
        unread: list[str] = []
        events, quotas, failure = await asyncio.gather(
            self._read(self._events(pod), unread, "events: list"),
            self._read(self._quotas(namespace), unread, "resourcequotas: list"),
            self._failure(pod),
        )
        facts = PodFacts(
            now=self._clock.now(),
            pod=pod,
            events=events or (),
            quotas=quotas or (),
            failure=failure,
            unread=tuple(unread),
        )
        if (pod.get("spec") or {}).get("nodeName"):
            return explain_pod(facts)
        usage = await self._usage(pod, unread)
        preflight = plan_preflight(pod, self._nodes.by_name.values(), usage, self._nodes.templates)
        return explain_pod(
            PodFacts(facts.now, pod, facts.events, preflight, facts.quotas, facts.failure, tuple(unread))
        )

    async def last_words(self, namespace: str, name: str) -> str:
        """The last line of the container that fails; empty if there is none. Asked at most every few seconds."""
        key, now = f"{namespace}/{name}", self._clock.monotonic()
        read_at, words = self._last_words.get(key, (None, ""))
        if read_at is not None and now - read_at < WORDS_KEPT_SECONDS:
            return words
        try:
            failure = await self._failure(await self._pod(namespace, name))
        except (KubeError, NotFound, Forbidden):
            failure = None
        words = failure.logs[-1] if failure is not None and failure.logs else ""
        self._last_words = {pod: old for pod, old in self._last_words.items() if now - old[0] < WORDS_KEPT_SECONDS}
        self._last_words[key] = (now, words)
        return words

    async def _pod(self, namespace: str, name: str) -> Body:
        try:
            return await self._client.get(PODS.raw(), name, namespace)
        except ObjectNotFound:
            fix = f"kubectl -n {namespace} get pods"
            raise NotFound(f"there is no pod {namespace}/{name}", fix=fix) from None
        except NotPermitted as refused:
            raise Forbidden(refused.message, fix="pods: get is missing; `mooring install` prints the roles") from None

    async def _read(self, reading: Awaitable[T], unread: list[str], verb: str) -> T | None:
        try:
            return await reading
        except KubeError as error:
            unread.append(f"{verb} failed: {clean_line(error.message)}")
            return None

    async def _events(self, pod: Body) -> tuple[PodEvent, ...]:
        metadata = pod["metadata"]
        page = await self._client.list_page(
            EVENTS, metadata["namespace"], field_selector=f"involvedObject.uid={metadata['uid']}", limit=500
        )
        happenings = sorted((_happening(event) for event in page.items), key=_recent, reverse=True)
        return tuple(happenings[:_MOST_EVENTS])

    async def _quotas(self, namespace: str) -> tuple[Quota, ...]:
        listing = await self._client.list(RESOURCEQUOTAS, namespace)
        return tuple(
            Quota(quota.metadata.name, resource, quota.status.used.get(resource, "0"), hard)
            for quota in listing.items
            for resource, hard in quota.status.hard.items()
            if _used_up(quota.status.used.get(resource, "0"), hard)
        )

    async def _failure(self, pod: Body) -> Failure | None:
        status = container_in_trouble(pod)
        if status is None:
            return None
        metadata = pod["metadata"]
        view = await self._client.get(PODS, metadata["name"], metadata["namespace"])
        statuses = (*view.status.init_container_statuses, *view.status.container_statuses)
        found = next((one for one in statuses if one.name == status["name"]), None)
        if found is None:
            return None
        ended = found.state.terminated or found.last_state.terminated
        return await self._gather(view, found, ended.reason if ended else "")

    async def _usage(self, pod: Body, unread: list[str]) -> Usage:
        needs = read_needs(pod)
        residents, volumes = await asyncio.gather(
            self._read(self._all_residents(), unread, "pods: list"),
            self._volumes(needs, pod["metadata"]["namespace"], unread),
        )
        usage = Usage(residents or {}, volumes, read=residents is not None)
        own = any(term.selects_namespaces for term in (*needs.affinity, *needs.anti_affinity))
        if not own and not usage.selects_namespaces:
            return usage
        return replace(usage, namespaces=await self._read(self._namespaces(), unread, "namespaces: list"))

    async def _all_residents(self) -> Residents:
        async with self._listing:
            now = self._clock.monotonic()
            if self._residents is None or now - self._residents[0] > KEPT_SECONDS:
                listing = await self._client.list(PODS.raw(), field_selector=_NOT_ENDED)
                self._residents = (now, read_residents(listing.items))
            return self._residents[1]

    async def _volumes(self, needs: PodNeeds, namespace: str, unread: list[str]) -> dict[str, BoundVolume | Unbound]:
        """Each claim for itself: what cannot be read of one says nothing about the others."""
        found = await asyncio.gather(
            *(
                self._read(self._volume(name, namespace), unread, f"persistentvolumeclaims: get {name}")
                for name in needs.claims
            )
        )
        return {name: one for name, one in zip(needs.claims, found, strict=True) if one is not None}

    async def _volume(self, name: str, namespace: str) -> BoundVolume | Unbound:
        try:
            claim = await self._client.get(PERSISTENTVOLUMECLAIMS.raw(), name, namespace)
        except ObjectNotFound:
            return Unbound.MISSING
        bound_to = volume_name(claim)
        if not bound_to:
            return classify_unbound(claim, await self._binding_mode(class_name(claim)))
        try:
            return read_volume(await self._client.get(PERSISTENTVOLUMES.raw(), bound_to))
        except ObjectNotFound:
            return Unbound.LOST

    async def _binding_mode(self, storage_class: str) -> str:
        """When claims of that class are bound; empty when that may not be read."""
        if not storage_class:
            return "Immediate"
        try:
            found = await self._client.get(STORAGECLASSES, storage_class)
        except ObjectNotFound:
            return "Immediate"  # as the scheduler takes it
        except NotPermitted:
            return ""
        return found.volume_binding_mode

    async def _namespaces(self) -> Mapping[str, Mapping[str, str]]:
        listing = await self._client.list(NAMESPACES)
        return {one.metadata.name: one.metadata.labels for one in listing.items}


def _happening(event: views.Event) -> PodEvent:
    return PodEvent(
        source=event.reporting_component or event.source.component,
        reason=event.reason,
        message=clean_line(event.message),
        warning=event.type == "Warning",
        count=max(event.count, event.series.count if event.series else 0, 1),
        last_seen=event.last_seen,
    )


def _recent(happening: PodEvent) -> float:
    return happening.last_seen.timestamp() if happening.last_seen else 0.0


def _used_up(used: str, hard: str) -> bool:
    try:
        return parse_quantity(used) >= parse_quantity(hard)
    except InvalidInput:
        return False

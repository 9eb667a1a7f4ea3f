"""The verbs of a Kubernetes API, typed by resource.

Nothing is retried here: what to do after a failure is decided by the caller.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from hawser.decoding import decoder_for
from hawser.errors import AnswerUnreadable, Gone, InvalidInput
from hawser.exchange import whole_answer
from hawser.pages import Items, Listing, Page
from hawser.resources import PODS, Resource
from hawser.reviewing import Reviewing
from hawser.transport import Request, Transport
from hawser.version import ServerVersion, read_version
from hawser.watching import Watch

T = TypeVar("T")
D = TypeVar("D")
Body = dict[str, Any]
Propagation = Literal["Background", "Foreground", "Orphan", ""]

_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML


class KubeClient(Reviewing):
    """A Kubernetes API behind a transport. Raises the tree of `hawser/errors.py`.

    `namespaces` are those that the account may list, if it may not list all of them: a list of all namespaces then
    means a list of each of these.
    """

    def __init__(self, transport: Transport, *, user_agent: str = "hawser", namespaces: Sequence[str] = ()) -> None:
        self._transport = transport
        self.namespaces = tuple(namespaces)
        self._headers = {"accept": _JSON, "user-agent": user_agent}

    def through(self, layer: Callable[[Transport], Transport]) -> "KubeClient":
        """The same client, whose requests pass `layer` first."""
        wrapped = KubeClient(layer(self._transport), namespaces=self.namespaces)
        wrapped._headers = self._headers
        return wrapped

    async def get(self, resource: Resource[T], name: str, namespace: str | None = None) -> T:
        body = await self._call("GET", resource.path(namespace, name))
        return self._read(decoder_for(resource.view).object, body)

    async def list(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
    ) -> Listing[T]:
        """The whole list. A page that expired in mid-list starts it again, once; a part of a list is never returned."""
        everywhere = namespace is None and resource.namespaced and self.namespaces
        items: Items[T] = []
        for place in self.namespaces if everywhere else (namespace,):
            try:
                found = await self._list_once(resource, place, label_selector, field_selector, page_size)
            except Gone:
                found = await self._list_once(resource, place, label_selector, field_selector, page_size)
            items += found.items
        return Listing(items, found.resource_version)

    async def _list_once(
        self, resource: Resource[T], namespace: str | None, label_selector: str, field_selector: str, page_size: int
    ) -> Listing[T]:
        items: Items[T] = []
        continue_token = ""
        while True:
            page = await self.list_page(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=page_size,
                continue_token=continue_token,
            )
            items += page.items
            continue_token = page.continue_token
            if not continue_token:
                return Listing(items, page.resource_version)

    async def list_page(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
        continue_token: str = "",
    ) -> Page[T]:
        query = _given(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=str(limit) if limit else "",
            **{"continue": continue_token},
        )
        answer = await self._call("GET", resource.path(namespace), query)
        body = self._read(decoder_for(resource.view).list, answer)
        items = body.items or []
        for item in items:
            if isinstance(item, dict):  # the items of a list come without the names of their kind
                item.setdefault("apiVersion", resource.api_version)
                item.setdefault("kind", resource.kind)
        return Page(items, body.metadata.resource_version, body.metadata.continue_token)

    async def create(
        self,
        resource: Resource[T],
        body: Body,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        field_manager: str = "",
        subresource: str = "",
    ) -> T:
        metadata = body.get("metadata", {})
        if resource.namespaced and namespace is None:
            namespace = metadata.get("namespace") or _missing("metadata.namespace")
        name = (metadata.get("name") or _missing("metadata.name")) if subresource else None
        query = _given(dryRun="All" if dry_run else "", fieldManager=field_manager)
        path = resource.path(namespace, name, subresource)
        answer = await self._call("POST", path, query, _named(resource, body))
        return self._read(decoder_for(resource.view).object, answer)

    async def update(self, resource: Resource[T], body: Body, *, subresource: str = "") -> T:
        """Replaces an object with a whole one that was read raw; a view must never come back this way."""
        metadata = body.get("metadata", {})
        name = metadata.get("name") or _missing("metadata.name")
        if not metadata.get("resourceVersion"):  # without it a PUT overwrites whatever came in between
            _missing("metadata.resourceVersion")
        path = resource.path(metadata.get("namespace") or None, name, subresource)
        answer = await self._call("PUT", path, (), _named(resource, body))
        return self._read(decoder_for(resource.view).object, answer)

    async def merge_patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Body,
        namespace: str | None = None,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> T:
        query = _given(dryRun="All" if dry_run else "", fieldManager=field_manager)
        path = resource.path(namespace, name, subresource)
        answer = await self._call("PATCH", path, query, patch, _MERGE_PATCH)
        return self._read(decoder_for(resource.view).object, answer)

    async def json_patch(
        self,
        resource: Resource[T],
        name: str,
        operations: Sequence[Body],
        namespace: str | None = None,
        *,
        subresource: str = "",
    ) -> T:
        path = resource.path(namespace, name, subresource)
        answer = await self._call("PATCH", path, (), operations, _JSON_PATCH)
        return self._read(decoder_for(resource.view).object, answer)

    async def apply(
        self,
        resource: Resource[T],
        body: Body,
        namespace: str | None = None,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> T:
        """Server-side apply. It creates what is missing: put `metadata.uid` in to only ever change what is there."""
        query = _given(dryRun="All" if dry_run else "", fieldManager=field_manager, force="true" if force else "false")
        metadata = body.get("metadata", {})
        name = metadata.get("name") or _missing("metadata.name")
        path = resource.path(namespace or metadata.get("namespace"), name, subresource)
        answer = await self._call("PATCH", path, query, _named(resource, body), _APPLY_PATCH)
        return self._read(decoder_for(resource.view).object, answer)

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation = "",
        grace_seconds: int | None = None,
    ) -> None:
        options: Body = {"apiVersion": "v1", "kind": "DeleteOptions"}
        options |= _delete_options(uid, resource_version, grace_seconds)
        if propagation:
            options["propagationPolicy"] = propagation
        await self._call("DELETE", resource.path(namespace, name), (), options)

    async def evict(
        self,
        name: str,
        namespace: str,
        *,
        uid: str = "",
        resource_version: str = "",
        grace_seconds: int | None = None,
    ) -> None:
        """Asks for a pod to go, if its disruption budgets agree; `EvictionBlocked` when they do not."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(uid, resource_version, grace_seconds),
        }
        await self._call("POST", PODS.path(namespace, name, "eviction"), (), body)

    async def logs(
        self,
        name: str,
        namespace: str,
        *,
        container: str = "",
        tail_lines: int | None = None,
        previous: bool = False,
        limit_bytes: int | None = None,
    ) -> str:
        """What a container wrote, as it wrote it: hostile text."""
        query = _given(
            container=container,
            tailLines="" if tail_lines is None else str(tail_lines),
            previous="true" if previous else "",
            limitBytes="" if limit_bytes is None else str(limit_bytes),
        )
        answer = await self._call("GET", PODS.path(namespace, name, "log"), query, accept="*/*")
        return answer.decode("utf-8", "replace")

    async def version(self) -> ServerVersion:
        """Who answers, and what time it is there."""
        return await read_version(self._transport, Request("GET", "/version", (), self._headers))

    def watch(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int | None = None,
        bookmarks: bool = True,
    ) -> Watch[T]:
        """Changes after that resource version: `async with client.watch(…) as events: async for event in events`."""
        query = _given(
            watch="1",
            resourceVersion=resource_version,
            labelSelector=label_selector,
            fieldSelector=field_selector,
            timeoutSeconds="" if timeout_seconds is None else str(timeout_seconds),
            allowWatchBookmarks="true" if bookmarks else "",
        )
        request = Request("GET", resource.path(namespace), query, self._headers)
        return Watch(self._transport, request, decoder_for(resource.view))

    async def _call(
        self,
        method: str,
        path: str,
        query: tuple[tuple[str, str], ...] = (),
        body: object = None,
        content_type: str = _JSON,
        *,
        accept: str = _JSON,
    ) -> bytes:
        headers = self._headers if accept == _JSON else {**self._headers, "accept": accept}
        if body is None:
            return await whole_answer(self._transport, Request(method, path, query, headers))
        headers = {**headers, "content-type": content_type}
        return await whole_answer(self._transport, Request(method, path, query, headers, msgspec.json.encode(body)))

    def _read(self, decode: Callable[[bytes], D], body: bytes) -> D:
        try:
            return decode(body)
        except msgspec.DecodeError as error:
            raise AnswerUnreadable(f"the API server's answer cannot be read: {error}", body=body) from error


def _given(**query: str) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in query.items() if value)


def _named(resource: Resource[Any], body: Body) -> Body:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}


def _delete_options(uid: str, resource_version: str, grace_seconds: int | None) -> Body:
    options: Body = {}
    if preconditions := dict(_given(uid=uid, resourceVersion=resource_version)):
        options["preconditions"] = preconditions
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return options


def _missing(field: str) -> str:
    raise InvalidInput(field, "", "given in the body")

"""Placeholder pods of pools with headroom: read from pods, created by name, deleted with preconditions."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import structlog

from hawser import views
from hawser.errors import AlreadyExists, KubeError, NotPermitted, ObjectNotFound
from hawser.fitting.needs import pod_requests
from hawser.resources import PODS, PRIORITYCLASSES
from mooring.engine.context import Context
from mooring.engine.creator import Creator, NameTaken
from mooring.engine.ownership import is_controlled_by, owner_reference
from mooring.kinds.resources import is_worker_pool
from mooring.model import names
from mooring.model.headroom import CLASS_VALUE, Headroom, Placeholder
from mooring.model.pool import Pool
from mooring.planning.placement import Placed
from mooring.planning.pools.snapshot import Backoff

log = structlog.get_logger()

AGAIN_SECONDS = 60.0  # after a failure
_TAKEN_OVER = ("nodeSelector", "affinity", "tolerations", "runtimeClassName", "schedulerName", "imagePullSecrets")
_USER = 65535  # that the pause image runs as

Body = dict[str, Any]


def placeholder_from_pod(pod: views.Pod) -> Placeholder | None:
    """The placeholder that a pod is; None for a pod that carries our label but that no pool controls."""
    meta = pod.metadata
    controller = meta.controller
    if controller is None or not is_worker_pool(controller.kind, controller.api_version):
        return None
    if meta.creation_timestamp is None or meta.labels.get(names.HEADROOM) != controller.name:
        return None
    return Placeholder(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        pool_uid=controller.uid,
        created_at=meta.creation_timestamp,
        spec_hash=meta.annotations.get(names.SPEC_HASH, ""),
        node=pod.spec.node_name,
        finished=pod.finished,
        terminating=meta.deletion_timestamp is not None,
    )


def placeholder_spec(pool: Pool, headroom: Headroom, placed: Placed) -> Body:
    """A pod that asks of a node what a worker asks of it, and does nothing.

    It goes at once when a worker or a drain needs its place: no grace, no budget, no protection.
    """
    template: Body = pool.spec.template.get("spec") or {}
    wanted = placed.on({field: template[field] for field in _TAKEN_OVER if field in template})
    requests = {name: _quantity(name, count) for name, count in sorted(_requests(template).items()) if count}
    limits = {name: text for name, text in requests.items() if "/" in name or name.startswith("hugepages-")}
    container = {
        "name": "placeholder",
        "image": headroom.image,
        "resources": {"requests": requests, **({"limits": limits} if limits else {})},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        **wanted,
        "priorityClassName": headroom.priority_class_name,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }


def placeholder_hash(pool: Pool, headroom: Headroom, placed: Placed) -> str:
    """Changes exactly when placeholders made before hold other room than new ones would.

    Nodes that are avoided or preferred for the moment are left out.
    """
    spec = placeholder_spec(pool, headroom, replace(placed, avoid=(), prefer=()))
    return hashlib.sha256(msgspec.json.encode(spec, order="sorted")).hexdigest()[:16]


def placeholder_manifest(pool: Pool, headroom: Headroom, name: str, placed: Placed) -> Body:
    """The whole pod. It has no label of the pool's workers: no Service, budget or count takes it for one."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": pool.namespace,
            "labels": {names.HEADROOM: pool.name},
            # cluster-autoscaler keeps a node for pods whose controller it does not know, unless they say this.
            "annotations": {
                names.SPEC_HASH: placeholder_hash(pool, headroom, placed),
                names.SAFE_TO_EVICT: "true",
            },
            "ownerReferences": [owner_reference("WorkerPool", pool.name, pool.uid, blocks_deletion=False)],
        },
        "spec": placeholder_spec(pool, headroom, placed),
    }


class PlaceholderCreation:
    """Creates placeholders. After a failure it waits, and says why. All it remembers may be lost."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._creator = Creator(context.client, context.clock, context.entropy, attempts=1)
        self._backoffs: dict[str, Backoff] = {}

    def backoff(self, key: str) -> Backoff | None:
        """The time before which no placeholder is created for a pool, and the reason."""
        return self._backoffs.get(key)

    def forget(self, key: str) -> None:
        """The pool is gone, or nothing failed."""
        self._backoffs.pop(key, None)

    async def create(self, pool: Pool, headroom: Headroom, asked: Sequence[str], placed: Placed) -> None:
        """Make them, one after another, until one fails."""
        try:
            message = await self._check_class(headroom.priority_class_name)
            for name in asked if not message else ():
                body = placeholder_manifest(pool, headroom, name, placed)
                try:
                    await self._creator.create(PODS, body, pool.namespace, partial(is_controlled_by, uid=pool.uid))
                except AlreadyExists:
                    continue  # and gone again in the meantime
        except NameTaken as taken:
            message = "" if is_controlled_by(taken.found, pool.uid) else taken.message
        except KubeError as error:
            message = f"creating a placeholder failed: {error.message}"
        if message:
            log.warning("headroom is not kept", pool=pool.key, error=message)
            before = self._backoffs.get(pool.key)
            until = self._clock.now() + timedelta(seconds=AGAIN_SECONDS)
            self._backoffs[pool.key] = Backoff(before.failures + 1 if before else 1, until, message)
        else:
            self.forget(pool.key)

    async def delete(self, placeholder: Placeholder) -> None:
        """Delete exactly this one."""
        await self._client.delete(
            PODS,
            placeholder.name,
            placeholder.namespace,
            uid=placeholder.uid,
            resource_version=placeholder.resource_version,
        )

    async def _check_class(self, name: str) -> str:
        """What is wrong with the PriorityClass: a placeholder with the priority of a worker would be in its way."""
        try:
            found = await self._client.get(PRIORITYCLASSES, name)
        except ObjectNotFound:
            fix = "'mooring install' and the chart have it, or name another in spec.demand.headroom.priorityClassName"
            return f"there is no PriorityClass {name}: {fix}"
        except NotPermitted as refused:
            return f"PriorityClass {name} cannot be read: {refused.message}; 'mooring install' prints the roles"
        if found.value >= 0:
            return (
                f"PriorityClass {name} has the value {found.value}, so workers would not preempt its pods: "
                f"name one with a negative value, such as {CLASS_VALUE}"
            )
        return ""


def _requests(template: Body) -> dict[str, int]:
    """Of all containers together. The API server adds the overhead of a runtime class itself."""
    return dict(pod_requests({field: value for field, value in template.items() if field != "overhead"}))


def _quantity(name: str, count: int) -> str:
    return f"{count}m" if name == "cpu" else str(count)

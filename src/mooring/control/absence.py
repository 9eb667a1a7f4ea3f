"""Proving that an object is gone: only a live 404, or another uid under its name, does (rule 13)."""

from typing import TypeVar

from mooring.kube.client import KubeClient
from mooring.kube.errors import KubeError, ObjectNotFound
from mooring.kube.resources import Resource
from mooring.kube.views import Object

T = TypeVar("T", bound=Object)


async def live_uid(client: KubeClient, resource: Resource[T], name: str, namespace: str) -> str | None:
    """The uid of what has that name now; empty when nothing has it, None when that cannot be told."""
    try:
        return (await client.get(resource, name, namespace)).metadata.uid
    except ObjectNotFound:
        return ""
    except KubeError:
        return None

"""Proving that an object is gone: only a live 404, or another uid under its name, does."""

from typing import TypeVar

from hawser.client import KubeClient
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import Resource
from hawser.views import Object

T = TypeVar("T", bound=Object)


async def live_uid(client: KubeClient, resource: Resource[T], name: str, namespace: str | None) -> str | None:
    """The uid of what has that name now; empty when nothing has it, None when that is unknown."""
    try:
        return (await client.get(resource, name, namespace)).metadata.uid
    except ObjectNotFound:
        return ""
    except KubeError:
        return None

"""The ServiceAccount that a worker has to itself: known by its owner, and deleted when the worker is."""

import structlog

from hawser import views
from hawser.client import KubeClient
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import SERVICEACCOUNTS
from mooring.kinds.resources import is_worker_pool

log = structlog.get_logger()


def is_worker_account(account: views.ServiceAccount) -> bool:
    """Whether a pool of ours owns it; the label alone proves nothing."""
    owners = account.metadata.owner_references
    return any(is_worker_pool(owner.kind, owner.api_version) for owner in owners)


async def delete_account(client: KubeClient, namespace: str, worker: str) -> None:
    """Of a worker whose pod was just deleted, if it has one. What fails here is found by `account-has-pod`."""
    try:
        account = await client.get(SERVICEACCOUNTS, worker, namespace)
        if is_worker_account(account):
            seen = account.metadata
            await client.delete(
                SERVICEACCOUNTS, worker, namespace, uid=seen.uid, resource_version=seen.resource_version
            )
    except ObjectNotFound:
        return
    except KubeError as error:
        log.info("service account left for account-has-pod", name=worker, namespace=namespace, error=error.message)

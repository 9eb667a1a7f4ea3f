"""The ServiceAccount that a worker has to itself: known by its owner, and deleted when the worker is."""

import structlog

from hawser import views
from hawser.client import KubeClient
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import SERVICEACCOUNTS
from mooring.model import names

log = structlog.get_logger()


def is_worker_account(account: views.ServiceAccount) -> bool:
    """Whether a pool of ours owns it; an account that only carries our label is a stranger's."""
    owners = account.metadata.owner_references
    return any(owner.kind == "WorkerPool" and owner.api_version.startswith(names.OWN_PREFIX) for owner in owners)


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

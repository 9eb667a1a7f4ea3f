"""The ServiceAccount that a worker has to itself goes when the worker goes."""

import structlog

from mooring.control.translation import is_worker_account
from mooring.kube.client import KubeClient
from mooring.kube.errors import KubeError, ObjectNotFound
from mooring.kube.resources import SERVICEACCOUNTS

log = structlog.get_logger()


async def delete_account(client: KubeClient, namespace: str, worker: str) -> None:
    """Of a worker whose pod was just deleted, if it has one. What fails here is found by `account-has-pod`."""
    try:
        account = await client.get(SERVICEACCOUNTS, worker, namespace)
        if is_worker_account(account):
            fence = account.metadata
            await client.delete(
                SERVICEACCOUNTS, worker, namespace, uid=fence.uid, resource_version=fence.resource_version
            )
    except ObjectNotFound:
        return
    except KubeError as error:
        log.info("service account left for the reaper", name=worker, namespace=namespace, error=error.message)

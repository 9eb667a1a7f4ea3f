"""A pod as the API holds it: the newest version known, and the writes a kubelet makes to it."""

from collections.abc import Callable

import structlog

from drydock.actors.kubelet.status import needs_writing
from drydock.actors.machinery.objects import Object, name_of, namespace_of, status_of, uid_of, version_of
from hawser.client import KubeClient
from hawser.errors import KubeError, ObjectChanged, ObjectConflict, ObjectNotFound
from hawser.resources import PODS

_log = structlog.get_logger("drydock")


class HeldPod:
    """`removed` is set once the API does not hold this pod any more; another of its name does not count.

    `wake` is called for a version that a write brought: the watch, which comes later, has no news then.
    """

    def __init__(self, client: KubeClient, pod: Object, wake: Callable[[], None]) -> None:
        self._client = client
        self._wake = wake
        self.object = pod
        self.name, self.namespace, self.uid = name_of(pod), namespace_of(pod), uid_of(pod)
        self.removed = False
        self._sent: tuple[int, Object] = (0, {})

    def take(self, pod: Object) -> bool:
        """Take over a version; False when it is no newer."""
        if uid_of(pod) != self.uid:
            self.removed = True
            return True
        if version_of(pod) <= version_of(self.object):
            return False
        self.object = pod
        return True

    async def write_status(self, compute: Callable[[Object], Object]) -> bool:
        """Write what `compute` makes of the newest version, if it differs; False when it has to be tried again."""
        try:
            while not self.removed:
                status = compute(self.object)
                if not needs_writing(status_of(self.object), status):
                    return True
                if self._sent == (version_of(self.object), status):
                    return True  # the server keeps less than we said; saying it again would not help
                try:
                    await self._send(status)
                except ObjectConflict:
                    if self.take(await self._client.get(PODS.raw(), self.name, self.namespace)):
                        self._wake()
        except (ObjectNotFound, ObjectChanged):
            self.removed = True
        except KubeError as error:
            _log.info("pod status not written", pod=self.name, namespace=self.namespace, error=str(error))
            return False
        return True

    async def delete(self) -> bool:
        """Let the API forget the pod; False when it has to be tried again."""
        try:
            await self._client.delete(PODS, self.name, self.namespace, uid=self.uid, grace_seconds=0)
        except (ObjectNotFound, ObjectConflict):
            return True
        except KubeError as error:
            _log.info("pod not deleted", pod=self.name, namespace=self.namespace, error=str(error))
            return False
        return True

    async def _send(self, status: Object) -> None:
        metadata = {"uid": self.uid, "resourceVersion": self.object["metadata"]["resourceVersion"]}
        patch = {"metadata": metadata, "status": status}
        answer = await self._client.merge_patch(PODS.raw(), self.name, patch, self.namespace, subresource="status")
        self._sent = (version_of(answer), status)
        self.take(answer)

"""Every namespace has a ConfigMap with the certificate that its pods check the API server with."""

from drydock.actors.machinery.informers import Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import Object, is_terminating, name_of, status_of
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import AlreadyExists, NotPermitted, ObjectNotFound
from hawser.resources import CONFIGMAPS

ROOT_CERTIFICATE = "kube-root-ca.crt"
_LOOK_SECONDS = 60.0


class RootCertificatePublisher:
    """Creates the ConfigMap, and sets it right again when somebody deletes or edits it."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock, certificate: str) -> None:
        self._client = client
        self._informers = informers
        self._data = {"ca.crt": certificate}
        self.loop: ReconcileLoop[str] = ReconcileLoop("root-certificate", self._reconcile, clock, workers=2)
        informers.namespaces.subscribe(self._on_namespace)

    def _on_namespace(self, change: Change[Object]) -> None:
        if change.new is not None:
            self.loop.add(name_of(change.new))

    async def _reconcile(self, name: str) -> float | None:
        namespace = self._informers.namespaces.cache.get("", name)
        if namespace is None or is_terminating(namespace) or status_of(namespace).get("phase") == "Terminating":
            return None
        try:
            found = await self._client.get(CONFIGMAPS, ROOT_CERTIFICATE, name)
        except ObjectNotFound:
            await self._create(name)
            return _LOOK_SECONDS
        if found.data != self._data:
            await self._client.merge_patch(CONFIGMAPS, ROOT_CERTIFICATE, {"data": self._data}, name)
        return _LOOK_SECONDS

    async def _create(self, namespace: str) -> None:
        body = {"metadata": {"name": ROOT_CERTIFICATE, "namespace": namespace}, "data": self._data}
        try:
            await self._client.create(CONFIGMAPS, body, namespace)
        except (AlreadyExists, ObjectNotFound):
            return
        except NotPermitted as error:
            if not any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                raise

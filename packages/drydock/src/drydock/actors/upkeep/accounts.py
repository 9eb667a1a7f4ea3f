"""Every namespace has a ServiceAccount named `default`."""

from drydock.actors.machinery.informers import Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import Object, is_terminating, name_of, namespace_of, status_of
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import AlreadyExists, NotPermitted, ObjectNotFound
from hawser.resources import SERVICEACCOUNTS

_DEFAULT = "default"


class AccountController:
    """Creates the default account, and creates it again."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock) -> None:
        self._client = client
        self._informers = informers
        self.loop: ReconcileLoop[str] = ReconcileLoop("accounts", self._reconcile, clock, workers=2)
        informers.namespaces.subscribe(self._on_namespace)
        informers.accounts.subscribe(self._on_account)

    def _on_namespace(self, change: Change[Object]) -> None:
        if change.new is not None:
            self.loop.add(name_of(change.new))

    def _on_account(self, change: Change[Object]) -> None:
        if change.new is None and change.old is not None:
            self.loop.add(namespace_of(change.old))

    async def _reconcile(self, name: str) -> float | None:
        namespace = self._informers.namespaces.cache.get("", name)
        if namespace is None or is_terminating(namespace) or status_of(namespace).get("phase") == "Terminating":
            return None
        if self._informers.accounts.cache.get(name, _DEFAULT) is None:
            try:
                await self._client.create(SERVICEACCOUNTS.raw(), {"metadata": {"name": _DEFAULT, "namespace": name}})
            except (AlreadyExists, ObjectNotFound):
                return None
            except NotPermitted as error:
                if not any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                    raise
        return None

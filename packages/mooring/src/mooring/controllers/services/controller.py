"""Services, put together."""

from mooring.controllers.services.commands import ServiceCommands
from mooring.controllers.services.document import Documents
from mooring.controllers.services.evidence import ServiceEvidence
from mooring.controllers.services.informer import ServiceInformer
from mooring.controllers.services.reconciler import ServiceReconciler
from mooring.controllers.services.snapshot import ServiceSnapshots
from mooring.engine.context import Context
from mooring.engine.controller import Controller, Pacing
from mooring.engine.nodes.informer import NODE, NODE_POOL
from mooring.model.service import Service
from mooring.planning.services.plan import ServicePlan, ServiceSnapshot

_COALESCE_SECONDS = 0.1
_NODE_COALESCE_SECONDS = 1.0


class ServiceController(Controller[ServiceInformer, Service, ServiceSnapshot, ServicePlan]):
    """Keeps services serving while this replica leads. It acts with unread caches too: it says that they are."""

    def __init__(self, context: Context, documents: Documents) -> None:
        informer = ServiceInformer(context)
        self.evidence = ServiceEvidence(context.client, documents)
        snapshots = ServiceSnapshots(context, informer, self.evidence)
        reconciler = ServiceReconciler(context, informer, snapshots)
        super().__init__("services", context, informer, reconciler, Pacing(_COALESCE_SECONDS), context.gate.leads)
        self.commands = ServiceCommands(context, snapshots)
        context.nodes.subscribe(self._on_node)

    def _on_node(self, kind: str, _: str) -> None:
        """Taints and labels may have changed what a placement means."""
        if kind in (NODE, NODE_POOL):
            for key in self.informer.services:
                self.look_at(key, _NODE_COALESCE_SECONDS)

"""Warmups, put together."""

from collections.abc import Awaitable, Callable, Sequence

from mooring.controllers.warmups.commands import WarmupCommands
from mooring.controllers.warmups.idle_check import IdleCheck
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.controllers.warmups.reconciler import WarmupReconciler
from mooring.engine.context import Context
from mooring.engine.controller import Controller, Pacing
from mooring.model.warmup import Warmup
from mooring.planning.warmups.plan import WarmupPlan, WarmupSnapshot

COALESCE_SECONDS = 0.2


class WarmupController(Controller[WarmupInformer, Warmup, WarmupSnapshot, WarmupPlan]):
    """Keeps datasets warm while this replica leads; every replica knows where they are."""

    def __init__(self, context: Context) -> None:
        informer = WarmupInformer(context)
        super().__init__("warmups", context, informer, WarmupReconciler(context, informer), Pacing(COALESCE_SECONDS))
        context.nodes.follow_warmth(informer.warm_nodes)
        self.commands = WarmupCommands(context, informer)
        self._idle_check = IdleCheck(context.ledger, informer, self.ready, context.clock)

    def _tasks(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return (self._idle_check.run,)

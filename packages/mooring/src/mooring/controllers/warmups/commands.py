"""What people ask of a Warmup: a forced re-warm, a closed circuit. The wish is written on the object, so it lasts."""

import msgspec

from hawser.errors import KubeError
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.engine.audit import DONE, Result
from mooring.engine.command_errors import explain_refusal
from mooring.engine.context import Context
from mooring.kinds.resources import WARMUPS
from mooring.model import names
from mooring.model.audit import Subject
from mooring.model.warmup import Warmup


class Asked(msgspec.Struct, frozen=True, rename="camel"):
    """What was written down: pending, until the status of the Warmup names the id."""

    id: str
    state: str = "pending"


class WarmupCommands:
    """Writes requests; the reconciler finds and answers them, on whatever replica it runs."""

    def __init__(self, context: Context, informer: WarmupInformer) -> None:
        self._client = context.client
        self._auditor = context.auditor
        self._entropy = context.entropy
        self._informer = informer

    async def rewarm(self, namespace: str, name: str, *, actor: str, reason: str) -> Asked:
        """Fetch everything again, once, as soon as nodes are Ready. One that still waits is not doubled."""
        warmup = self._informer.find(namespace, name)
        if warmup.rewarm_wish:
            return Asked(warmup.rewarm_wish)
        request = self._entropy.uuid()
        await self._annotate(warmup, names.REWARM, request, "rewarm", actor, reason)
        return Asked(request)

    async def close_circuit(self, namespace: str, name: str, *, actor: str, reason: str) -> Asked:
        """Try again now."""
        warmup = self._informer.find(namespace, name)
        request = self._entropy.uuid()
        await self._annotate(warmup, names.CLOSE_CIRCUIT, request, "close-circuit", actor, reason)
        return Asked(request)

    async def _annotate(self, warmup: Warmup, key: str, value: str, action: str, actor: str, reason: str) -> None:
        async def write() -> Result:
            patch = {"metadata": {"uid": warmup.uid, "annotations": {key: value}}}
            try:
                await self._client.merge_patch(WARMUPS, warmup.name, patch, warmup.namespace)
            except KubeError as error:
                raise explain_refusal(error, "warmup", warmup.namespace, warmup.name) from error
            return DONE

        await self._auditor.carry_out(
            write,
            actor=actor,
            action=action,
            subject=Subject("Warmup", warmup.namespace, warmup.name, warmup.uid),
            reason=reason,
            evidence={"request": value},
        )

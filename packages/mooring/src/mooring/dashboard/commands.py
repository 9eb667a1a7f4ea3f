"""The commands that pages use. The application provides their implementations."""

from typing import Any, Protocol

from litestar.params import SkipValidation

from mooring.model.claim_request import ClaimRequest
from mooring.model.pool_order import PoolOrder
from mooring.model.service_order import ServiceOrder
from mooring.model.submission import Cancel, SubmissionSpec


class _Claims(Protocol):
    async def revoke(self, claim_id: str, *, actor: str, reason: str) -> Any: ...

    async def claim_for(self, pool_key: str, wanted: ClaimRequest, holder: str) -> Any: ...


class _Retirement(Protocol):
    async def retire(self, namespace: str, name: str, *, actor: str, reason: str) -> Any: ...


class _Invariants(Protocol):
    async def pause(self, invariant: str, actor: str, reason: str) -> Any: ...

    async def resume(self, invariant: str, actor: str, reason: str) -> Any: ...


class _Warmups(Protocol):
    async def rewarm(self, namespace: str, name: str, *, actor: str, reason: str) -> Any: ...

    async def close_circuit(self, namespace: str, name: str, *, actor: str, reason: str) -> Any: ...


class _Submissions(Protocol):
    async def cancel(self, namespace: str, name: str, cancel: Cancel) -> Any: ...

    async def submit(
        self, namespace: str, spec: SubmissionSpec, reason: str = "", name: str = "", *, actor: str
    ) -> Any: ...


class _Pools(Protocol):
    async def preview(self, order: PoolOrder) -> Any: ...

    async def apply(self, order: PoolOrder, *, actor: str, reason: str) -> Any: ...

    async def scale(self, namespace: str, name: str, warm: int, *, actor: str, reason: str) -> Any: ...


class _Services(Protocol):
    async def preview(self, order: ServiceOrder) -> Any: ...

    async def apply(self, order: ServiceOrder, *, actor: str, reason: str) -> Any: ...

    async def remove(self, namespace: str, name: str, uid: str, *, actor: str, reason: str) -> Any: ...


ClaimCommands = SkipValidation[_Claims]
RetirementCommands = SkipValidation[_Retirement]
InvariantCommands = SkipValidation[_Invariants]
WarmupCommands = SkipValidation[_Warmups]
SubmissionCommands = SkipValidation[_Submissions]
ServiceCommands = SkipValidation[_Services]
PoolCommands = SkipValidation[_Pools]

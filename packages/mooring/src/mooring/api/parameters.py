"""Types of parameters with the limits of the ledger: other values are refused before a handler runs."""

from typing import Annotated

from litestar.params import Parameter
from msgspec import Meta

_MOST = 2**63 - 1

Epoch = Annotated[int, Meta(ge=0, le=_MOST)]
"""Of a body."""
EpochIfGiven = Annotated[int | None, Parameter(ge=0, le=_MOST)]
Before = Annotated[int | None, Parameter(ge=1, le=_MOST)]
"""Start of the page: `nextBefore` of the previous answer."""

Reason = Annotated[str, Parameter(max_length=500, description="Reason, kept on the claim and in the audit trail.")]

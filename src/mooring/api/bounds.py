"""Numbers and texts as the ledger can hold them: what lies beyond is refused before anybody is asked."""

from typing import Annotated

from litestar.params import Parameter
from msgspec import Meta

_MOST = 2**63 - 1

Epoch = Annotated[int, Meta(ge=0, le=_MOST)]
"""Of a body."""
EpochIfGiven = Annotated[int | None, Parameter(ge=0, le=_MOST)]
Before = Annotated[int | None, Parameter(ge=1, le=_MOST)]
"""Where a list goes on, as `nextBefore` gives it."""

Reason = Annotated[str, Parameter(max_length=500, description="Why; kept on the claim, and in the audit trail.")]
_OWN_ACTORS = r"^(?!(claim|invariant|replica|worker)/)"  # nobody else writes into the trail under these
Actor = Annotated[
    str, Parameter(min_length=1, max_length=253, pattern=_OWN_ACTORS, description="Who, for the audit trail.")
]
"""Of a query."""
ActorInBody = Annotated[str, Meta(min_length=1, max_length=253, pattern=_OWN_ACTORS)]

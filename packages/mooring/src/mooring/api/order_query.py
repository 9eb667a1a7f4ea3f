"""Query parameters of orders. A misspelt `dryRun` must not become an order that is carried out."""

from typing import Any

from litestar import Request

from mooring.model.errors import InvalidInput


def refuse_unknown_parameters(request: Request[Any, Any, Any], *known: str) -> None:
    """Raise `InvalidInput` for a parameter that the route does not have."""
    for name, value in request.query_params.items():
        if name not in known:
            raise InvalidInput(f"query parameter {name}", value, f"one of {', '.join(known)}")

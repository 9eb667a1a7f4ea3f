"""What the API server answered to a command, as an error for the caller of the command."""

from hawser.errors import (
    ApiError,
    BadRequest,
    ConnectionFailed,
    KubeError,
    ObjectChanged,
    ObjectConflict,
    ObjectInvalid,
    ObjectNotFound,
    ServerFailed,
    TooManyRequests,
)
from mooring.model.errors import Conflict, MooringError, NotFound, Unavailable
from mooring.model.unreadable import InvalidField


def explain_refusal(
    error: KubeError, noun: str, namespace: str, name: str, *, creates: bool = False, again: str = "the same"
) -> MooringError:
    """The error for a command on the `noun` (such as "pool") of this name.

    With `creates` only its namespace can be missing. `again` is what may be sent again when the outcome is unknown.
    """
    match error:
        case ObjectNotFound():
            return NotFound(f"there is no {f'namespace {namespace}' if creates else f'{noun} {namespace}/{name}'}")
        case ObjectInvalid() | BadRequest():
            field = error.causes[0].field if error.causes else "spec"
            return InvalidField(field, f"the API server refuses {field}: {error.message}", f"correct {field}")
        case ObjectConflict() | ObjectChanged():
            return Conflict(f"the {noun} {namespace}/{name} has changed since it was read", fix="read it again")
        case ConnectionFailed() | ServerFailed() | TooManyRequests():
            return Unavailable(f"the cluster did not answer: {error.message}", fix=f"send {again} again")
        case ApiError():
            return Conflict(f"the API server refuses it: {error.message}", fix="mooring doctor")
        case _:
            return error

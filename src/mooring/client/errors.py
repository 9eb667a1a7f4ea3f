"""What can go wrong when talking to Mooring, with the code the server sent."""

from typing import Any, ClassVar

from mooring.model.errors import MooringError


class RemoteError(MooringError):
    """The server answered with an error; `code` is its stable code."""

    retryable: ClassVar[bool] = False

    def __init__(self, status: int, code: str, message: str, detail: dict[str, Any]) -> None:
        super().__init__(message, fix=str(detail.get("fix", "")), detail=detail)
        self.status = status
        self.remote_code = code


class Unreachable(MooringError):
    """No answer came."""

    code = "unreachable"
    retryable: ClassVar[bool] = True

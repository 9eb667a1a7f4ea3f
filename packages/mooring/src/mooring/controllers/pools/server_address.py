"""The address of Mooring for workers that poll."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The URL, and the CA certificates (PEM) of its TLS certificate; an empty one is left to the pool's template."""

    url: str = ""
    ca: str = ""


ReadServerAddress = Callable[[], ServerAddress]

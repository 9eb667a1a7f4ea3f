"""Where workers that poll find Mooring."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Home:
    """The URL, and the CA certificates (PEM) by which Mooring is known there; each may be left to the template."""

    url: str = ""
    ca: str = ""


FindHome = Callable[[], Home]

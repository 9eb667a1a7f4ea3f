"""What can go wrong with one call, or with one watch."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Delay:
    """The call takes longer: between `seconds` and `seconds + spread_seconds`. Adds to any other effect."""

    seconds: float
    spread_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Refuse:
    """No connection: the request never left."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An error answer in place of the real one; with `after_effect` the request was carried out all the same."""

    status: int
    reason: str = ""
    message: str = "injected"
    retry_after_seconds: int = 0
    cause: str = ""  # such as ResourceVersionTooLarge with 504
    after_effect: bool = False


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The request was carried out, its answer never arrived."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The request arrives twice; the caller sees the second answer."""


@dataclass(frozen=True, slots=True)
class ArriveLate:
    """The connection is cut, and the request arrives all the same, between `seconds` and `+ spread_seconds` later."""

    seconds: float
    spread_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer until the request's own time-out, if it has one."""

    after_effect: bool = False


@dataclass(frozen=True, slots=True)
class StaleRead:
    """A GET or a list is answered as the same request was before, at least `age_seconds` ago."""

    age_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class EmptyList:
    """A list is answered 200, at its version, with nothing in it: as after a change of selector or permission."""


@dataclass(frozen=True, slots=True)
class Crash:
    """The calling process dies before or after the request is carried out, and stays dead until restarted."""

    moment: Literal["before", "after"]


CallEffect = Refuse | Answer | LoseAnswer | Duplicate | ArriveLate | Hang | StaleRead | EmptyList | Crash


@dataclass(frozen=True, slots=True)
class DropEvents:
    """Events of a watch vanish, each with this probability."""

    probability: float = 1.0


@dataclass(frozen=True, slots=True)
class LagEvents:
    """Events arrive this much later, in their order."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RepeatEvents:
    """Events arrive twice, each with this probability."""

    probability: float = 1.0


@dataclass(frozen=True, slots=True)
class ReplayOldEvents:
    """After an event, one that came before it arrives again, with this probability."""

    probability: float = 1.0


@dataclass(frozen=True, slots=True)
class CutStream:
    """The watch ends after so many events: cleanly, inside the next line, or with a broken connection."""

    after_events: int = 0
    how: Literal["clean", "inside", "broken"] = "clean"


@dataclass(frozen=True, slots=True)
class SilenceStream:
    """After so many events nothing comes any more, and the connection stays."""

    after_events: int = 0


@dataclass(frozen=True, slots=True)
class FailStream:
    """After so many events comes an ERROR event inside the 200, then the end."""

    after_events: int = 0
    status: int = 410
    reason: str = "Expired"


StreamEffect = DropEvents | LagEvents | RepeatEvents | ReplayOldEvents | CutStream | SilenceStream | FailStream
Effect = Delay | CallEffect | StreamEffect

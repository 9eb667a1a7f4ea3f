"""Why an image cannot be pulled, and the parts of its name."""

import re
from dataclasses import dataclass
from enum import StrEnum

DEFAULT_REGISTRY = "docker.io"


class PullProblem(StrEnum):
    """What the registry, or the network on the way to it, answered."""

    UNAUTHORIZED = "ImageUnauthorized"
    NOT_FOUND = "ImageNotFound"
    UNREACHABLE = "RegistryUnreachable"
    INVALID_NAME = "ImageNameInvalid"
    OTHER = "ImagePullFailed"


# The order matters: a registry that hides what exists answers "not found or may require authorization" for a 401.
_SIGNS: tuple[tuple[PullProblem, re.Pattern[str]], ...] = (
    (PullProblem.INVALID_NAME, re.compile(r"(?i)invalid ?image ?name|invalid reference format|couldn't parse image")),
    (
        PullProblem.UNAUTHORIZED,
        re.compile(
            r"(?i)\b40[13]\b|unauthorized|forbidden|authentication required|authorization failed|access denied"
            r"|denied:|no basic auth credentials|may require"
        ),
    ),
    (
        PullProblem.NOT_FOUND,
        re.compile(r"(?i)\b404\b|not found|manifest unknown|name unknown|does not exist|no match for platform"),
    ),
    (
        PullProblem.UNREACHABLE,
        re.compile(
            r"(?i)time-?out|timed out|deadline exceeded|no such host|connection refused|connection reset"
            r"|no route to host|network is unreachable|server misbehaving|\b50[0234]\b|x509|\bEOF\b"
        ),
    ),
)


def classify_pull(message: str) -> PullProblem:
    """Classified by the messages that container runtimes pass on."""
    return next((problem for problem, sign in _SIGNS if sign.search(message)), PullProblem.OTHER)


@dataclass(frozen=True, slots=True)
class ImageName:
    """The parts of an image's name."""

    registry: str
    repository: str
    tag: str


def split_image(image: str) -> ImageName:
    """`registry/repository:tag`, as container runtimes read it."""
    name, _, digest = image.partition("@")
    first, slash, rest = name.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, rest) if is_host else (DEFAULT_REGISTRY, name)
    repository, colon, tag = path.rpartition(":")
    if not colon:
        repository, tag = path, ""
    return ImageName(registry, repository, digest or tag)

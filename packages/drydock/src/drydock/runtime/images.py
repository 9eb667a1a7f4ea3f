"""What the name of an image means to a node that has no images."""

import shutil
from collections.abc import Collection, Sequence

# Registries that cannot exist stand for the ways in which a pull fails; every other image is there.
_REFUSALS = {
    "example.invalid": "lookup example.invalid: no such host",
    "private.example.invalid": "unexpected status from HEAD request: 401 Unauthorized",
    "missing.example.invalid": "not found",
    "slow.example.invalid": "dial tcp 192.0.2.1:443: i/o timeout",
}
PRIVATE_REGISTRY = "private.example.invalid"
MISSING = "missing.example.invalid"  # has only the tag `latest`


def check_image(image: str, granted: Collection[str] = ()) -> str:
    """Why the image cannot be pulled; "" when it can. `granted` are the registries that the pod has credentials for."""
    registry, slash, name = image.partition("/")
    had = (registry == PRIVATE_REGISTRY and registry in granted) or (registry == MISSING and name.endswith(":latest"))
    if not slash or registry not in _REFUSALS or had:
        return ""
    reference = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}"'
    return f"{reference}: {_REFUSALS[registry]}"


def command_line(image: str, command: Sequence[str], arguments: Sequence[str], path: str) -> list[str]:
    """What to execute; empty when nobody says.

    A command is taken as it is. Without one, arguments that begin with a program are what runs, as with the many
    images that have no entry point; else the program that the image is called after gets them.
    """
    if command:
        return [*command, *arguments]
    if arguments and shutil.which(arguments[0], path=path):
        return list(arguments)
    name = image.rsplit("/", 1)[-1].split("@", 1)[0].split(":", 1)[0]
    if name == "pause":
        return ["sleep", "infinity"]
    return [name, *arguments] if shutil.which(name, path=path) else list(arguments)

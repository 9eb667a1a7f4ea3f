"""What the name of an image means to a node that has no images."""

import shutil
from collections.abc import Sequence

MISSING_REGISTRY = "example.invalid/"


def check_image(image: str) -> str:
    """Why the image cannot be pulled; "" when it can. A registry that cannot exist stands for every failing pull."""
    if image.startswith(MISSING_REGISTRY):
        return (
            f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '
            "lookup example.invalid: no such host"
        )
    return ""


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

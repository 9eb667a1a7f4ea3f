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


def entry_point(image: str, path: str) -> Sequence[str]:
    """What runs when a container names no command: the program the image is called after, if the machine has it."""
    name = image.rsplit("/", 1)[-1].split("@", 1)[0].split(":", 1)[0]
    if name == "pause":
        return ("sleep", "infinity")
    return (name,) if shutil.which(name, path=path) else ()

"""Links for names in explanations: `worker/runners/linux-3` is written the same in the API and in the terminal."""

import re
from collections.abc import Callable, Mapping

from markupsafe import Markup, escape

_NAME = re.compile(
    r"\b(?:(worker|pool|service|warmup|submission)/([a-z0-9.-]+/[a-z0-9.-]*[a-z0-9])|(node|claim)/([a-z0-9.-]*[a-z0-9]))\b"
)
_TARGETS: Mapping[str, Callable[[str], str]] = {
    "worker": lambda name: f"/workers/{name}",
    "node": lambda name: f"/nodes/{name}",
    "pool": lambda name: f"/pools/{name}",
    "service": lambda name: f"/services/{name}",
    "warmup": lambda name: f"/warmups/{name}",
    "submission": lambda name: f"/submissions/{name}",
    "claim": lambda name: f"/claims/{name}",
}


def linked(text: str) -> Markup:
    """The escaped text with a link for every name that has a page."""
    pieces, end = [], 0
    for found in _NAME.finditer(text):
        kind, name = found[1] or found[3], found[2] or found[4]
        pieces += [
            escape(text[end : found.start()]),
            Markup('<a href="{}">{}</a>').format(_TARGETS[kind](name), found[0]),
        ]
        end = found.end()
    return Markup("").join([*pieces, escape(text[end:])])

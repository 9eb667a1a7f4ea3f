"""All SQL by name. `-- name: x` begins a query, `-- fragment: x` a part that queries include as `{x}`.

One file for each part of the ledger; `load("claims")["end"]` is a query.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_HEADING = re.compile(r"^-- (name|fragment): (\w+)\n", re.MULTILINE)
_INCLUDED = re.compile(r"\{(\w+)\}")


@cache
def load(noun: str) -> Mapping[str, str]:
    """The queries of one file, with their fragments included."""
    _, *pieces = _HEADING.split((_FOLDER / f"{noun}.sql").read_text(encoding="utf-8"))
    sections = [(kind, name, text.strip()) for kind, name, text in zip(*[iter(pieces)] * 3, strict=True)]
    fragments = {name: text for kind, name, text in sections if kind == "fragment"}
    return {
        name: _INCLUDED.sub(lambda found: fragments[found[1]], text) for kind, name, text in sections if kind == "name"
    }

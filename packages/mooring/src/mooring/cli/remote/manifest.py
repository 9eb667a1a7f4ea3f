"""Files with an object of one of Mooring's kinds, as YAML or JSON."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from mooring.model.errors import InvalidInput, Misconfigured


def read_manifest(file: Path, kind: str) -> dict[str, Any]:
    """The object in a file, or on stdin for `-`; another kind is refused."""
    import yaml

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        body = yaml.safe_load(text)
    except OSError as error:
        raise Misconfigured(f"{file}: {error.strerror}", fix="give the path of a file, or - for stdin") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(str(file), "...", f"one object, readable as YAML or JSON ({error})") from error
    if not isinstance(body, dict):
        raise InvalidInput(str(file), body, f"a {kind}, or its spec")
    if body.get("kind") not in (None, kind):
        raise InvalidInput(f"{file}: kind", body["kind"], kind)
    plain: dict[str, Any] = msgspec.to_builtins(body)  # YAML has dates, JSON has not
    return plain

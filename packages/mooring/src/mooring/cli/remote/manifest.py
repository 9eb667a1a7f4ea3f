"""Files with an object of one of Mooring's kinds, as YAML or JSON."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.model.errors import InvalidInput, Misconfigured

if TYPE_CHECKING:
    import yaml


def read_manifest(file: Path, kind: str) -> dict[str, Any]:
    """The object in a file, or on stdin for `-`; another kind is refused."""
    import yaml

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        body = yaml.safe_load(text)
    except OSError as error:
        raise Misconfigured(f"{file}: {error.strerror}", fix="give the path of a file, or - for stdin") from error
    except yaml.MarkedYAMLError as error:
        raise _unreadable(file, text, error) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(str(file), "its content", "text in YAML or JSON, in UTF-8") from error
    if not isinstance(body, dict):
        raise InvalidInput(str(file), body, f"a {kind}, or its spec")
    if body.get("kind") not in (None, kind):
        raise InvalidInput(f"{file}: kind", body["kind"], kind)
    plain: dict[str, Any] = msgspec.to_builtins(body)  # YAML has dates, JSON has not
    return plain


def _unreadable(file: Path, text: str, error: "yaml.MarkedYAMLError") -> InvalidInput:
    """With the last line of text up to the place where the parser stopped."""
    mark = error.problem_mark or error.context_mark
    number = mark.line if mark is not None else 0
    lines = [line for line in text.split("\n")[: number + 1] if line.strip()]
    rule = f"one object in YAML or JSON: {error.problem or error.context}"
    return InvalidInput(f"{file}: line {number + 1}", lines[-1].strip() if lines else "", rule)

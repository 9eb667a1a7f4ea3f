"""What a payload may be: JSON that the ledger can store and that every reader can take apart."""

from typing import Any

MOST_DEPTH = 64


def find_fault(payload: dict[str, Any] | None) -> str:
    """What a payload must be and is not; empty if nothing is wrong. Walks level by level: depth costs no stack."""
    level: list[Any] = [payload]
    for _ in range(MOST_DEPTH + 1):
        if not level:
            return ""
        if any(isinstance(one, str) and "\0" in one for one in level):
            return "text without NUL characters"
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.keys()
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        level = inner
    return f"nested at most {MOST_DEPTH} deep"

"""Suggestions for unknown names: the closest match, and the names that exist."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_SHOWN = 20


def suggest(asked: str, known: Iterable[str], what: str) -> str:
    """The fix for an unknown name. `namespace/name` may also be given by its name alone."""
    names = sorted(known)
    spellings = {spelling: name for name in names for spelling in (name, name.rpartition("/")[2])}
    close = get_close_matches(asked, spellings, n=1)
    meant = f"did you mean {spellings[close[0]]!r}? " if close else ""
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return f"{meant}{what} that exist: {', '.join(names[:MOST_SHOWN]) or 'none'}{more}"

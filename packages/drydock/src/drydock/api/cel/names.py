"""Field names in CEL: what is no identifier is written escaped, such as `my__dash__field`."""

import re

_ESCAPES = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_ESCAPED = re.compile(r"__(underscores|dot|dash|slash)__")
_KEYWORD = re.compile(
    r"__(true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var"
    r"|void|while)__"
)


def unescape(name: str) -> str:
    """The field's own name."""
    if keyword := _KEYWORD.fullmatch(name):
        return keyword[1]
    return _ESCAPED.sub(lambda found: _ESCAPES[found[1]], name)

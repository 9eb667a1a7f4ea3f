"""Regular expressions as Go's RE2 reads them, run by Python's engine."""

import re
from functools import lru_cache

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_TOKEN = re.compile(r"\\.|\[:(\^?)(\w+):\]|[\[\]$]", re.DOTALL)


class PatternError(ValueError):
    """A pattern that cannot be run."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern, for `search`. ASCII classes, and `$` only at the very end, as in Go."""
    try:
        return re.compile(_translate(pattern), re.ASCII)
    except re.error as problem:
        raise PatternError(f"{pattern!r} is not a regular expression this server can run: {problem}") from problem


def _translate(pattern: str) -> str:
    inside_class = False

    def rewrite(found: re.Match[str]) -> str:
        nonlocal inside_class
        token = found[0]
        if token == r"\z":
            return r"\Z"
        if token[:2] in (r"\p", r"\P", r"\Q", r"\C"):
            raise PatternError(f"{pattern!r} uses {token}, which this server cannot run")
        if token.startswith("[:"):
            return _posix(pattern, token, negated=bool(found[1]), name=found[2])
        if token == "[" and not inside_class:
            inside_class = True
        elif token == "[":
            return r"\["
        elif token == "]":
            inside_class = False
        elif token == "$" and not inside_class and "(?m" not in pattern:
            return r"\Z"
        return token

    return _TOKEN.sub(rewrite, pattern)


def _posix(pattern: str, token: str, *, negated: bool, name: str) -> str:
    if negated or name not in _POSIX:
        raise PatternError(f"{pattern!r} uses {token}, which this server cannot run")
    return _POSIX[name]

"""Regular expressions as an API server runs them: by RE2, which refuses what Go refuses and never backtracks."""

import re
from collections.abc import Iterator
from functools import lru_cache

import re2

_MAX_MEMORY_BYTES = 128 << 20  # what Go allows a program; RE2's own default refuses `\pL{1000}`
_ESCAPES = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


class PatternError(ValueError):
    """A pattern that is not a regular expression; in the words of Go."""


class Pattern:
    """A compiled pattern. It is looked for anywhere in a text; `^` and `$` are the ends of the text."""

    __slots__ = ("_compiled",)

    def __init__(self, pattern: str) -> None:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MAX_MEMORY_BYTES
        try:
            self._compiled = re2.compile(pattern, options)
        except re2.error as problem:
            raise PatternError(_in_go_words(problem.args[0].decode("utf-8", "replace"))) from problem
        if r"\C" in _ESCAPES.findall(pattern):  # RE2 takes it for a single byte; Go does not know it
            raise PatternError(r"invalid escape sequence: `\C`")

    def search(self, text: str) -> str | None:
        """The first and leftmost part that matches; None when there is none."""
        found = self._compiled.search(text)
        return None if found is None else str(found[0])

    def find_all(self, text: str) -> Iterator[str]:
        """All parts that match, one after another. As in Go, nothing is found right behind another find."""
        end = -1
        for found in self._compiled.finditer(text):
            if found.end() > found.start() or found.start() != end:
                yield str(found[0])
            end = found.end()


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """The pattern, ready to search with. Raises `PatternError`."""
    return Pattern(pattern)


def _in_go_words(problem: str) -> str:
    words, colon, where = problem.partition(": ")
    words = _GO_WORDS.get(words, words)
    return f"{words}: `{where}`" if colon or words.startswith("trailing") else words

"""Splits SQL text into statements and words. It knows quotes, dollar quotes and comments, and no grammar."""

import re
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<line>--[^\n]*)
  | (?P<block>/\*)
  | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
  | (?P<escaped>[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*')
  | (?P<string>'[^']*(?:''[^']*)*')
  | (?P<quoted>"[^"]*(?:""[^"]*)*")
  | (?P<parameter>\$\d+)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>\d[\w.]*)
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<end>;)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


class Word(NamedTuple):
    """An unquoted word in upper case: how deep in parentheses, and whether a call's parenthesis follows it."""

    text: str
    depth: int
    call: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text, its unquoted words and its comments. A broken one has a quote without an end."""

    text: str
    words: tuple[Word, ...] = ()
    comments: tuple[str, ...] = ()
    broken: bool = False
    parameters: tuple[int, ...] = ()  # numbers of $1, $2, ...

    def top(self) -> list[str]:
        """The words outside of all parentheses."""
        return [word.text for word in self.words if word.depth == 0]


class _Splitter:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = 0
        self._depth = 0
        self._content = False
        self._words: list[Word] = []
        self._comments: list[str] = []
        self._parameters: list[int] = []
        self.found: list[Statement] = []

    def run(self) -> list[Statement]:
        at, end = 0, len(self._text)
        while at < end:
            token = _TOKEN.match(self._text, at)
            assert token is not None, "the last alternative matches any character"
            stop = self._take(token)
            if stop < 0:
                self._finish(end, broken=True)
                return self.found
            at = stop
        self._finish(end)
        return self.found

    def _take(self, token: re.Match[str]) -> int:
        """Where the token ends; -1 if it has no end."""
        kind = token.lastgroup
        if kind == "block":
            return self._comment(token)
        if kind == "line":
            self._comments.append(token[0])
            return token.end()
        if kind == "end":
            self._finish(token.start())
            self._start = token.end()
            return token.end()
        if kind == "space":
            return token.end()
        self._content = True
        if kind == "dollar":
            close = self._text.find(token[0], token.end())
            return -1 if close < 0 else close + len(token[0])
        if kind == "other" and token[0] in "'\"":
            return -1
        self._note(kind, token[0])
        return token.end()

    def _note(self, kind: str | None, text: str) -> None:
        if kind == "word":
            self._words.append(Word(text.upper(), self._depth))
        elif kind == "open":
            if text == "(" and self._words and self._text_before_is_word:
                self._words[-1] = self._words[-1]._replace(call=True)
            self._depth += 1
        elif kind == "parameter":
            self._parameters.append(int(text[1:]))
        elif kind == "close":
            self._depth = max(0, self._depth - 1)
        self._text_before_is_word = kind == "word"

    _text_before_is_word = False

    def _comment(self, token: re.Match[str]) -> int:
        depth, at = 1, token.end()
        while depth:
            edge = _COMMENT_EDGE.search(self._text, at)
            if edge is None:
                return -1
            depth += 1 if edge[0] == "/*" else -1
            at = edge.end()
        self._comments.append(self._text[token.start() : at])
        return at

    def _finish(self, end: int, *, broken: bool = False) -> None:
        if self._content or broken:
            text = self._text[self._start : end].strip()
            self.found.append(
                Statement(text, tuple(self._words), tuple(self._comments), broken, tuple(self._parameters))
            )
        self._depth, self._content = 0, False
        self._words, self._comments, self._parameters = [], [], []
        self._text_before_is_word = False


def split_statements(text: str) -> list[Statement]:
    """The statements of a text; none for one that has only comments and space."""
    return _Splitter(text).run()


def casts_of_parameters(text: str) -> dict[int, str]:
    """The type that the text itself gives a parameter: `$1::INTEGER`, `CAST($1 AS INTEGER)`, or a list in `ANY($1)`."""
    found: dict[int, str] = {}
    for statement in _CAST.finditer(text):
        number, kind = statement["first"] or statement["second"], statement["type"] or statement["as"]
        found.setdefault(int(number), kind)
    for compared in _COMPARED_LIST.finditer(text):
        found.setdefault(int(compared["number"]), "VARCHAR[]")
    return found


_COMPARED_LIST = re.compile(r"\b(?:ANY|ALL)\s*\(\s*\$(?P<number>\d+)\s*\)", re.IGNORECASE)
_TYPE = r"[A-Za-z_]\w*(?:\s*\(\s*\d+\s*(?:,\s*\d+\s*)?\))?(?:\s*\[\s*\])?"
_CAST = re.compile(
    rf"\$(?P<first>\d+)\s*::\s*(?P<type>{_TYPE})|CAST\s*\(\s*\$(?P<second>\d+)\s+AS\s+(?P<as>{_TYPE})", re.IGNORECASE
)

"""The words of a CEL expression."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)

TokenKind = Literal["name", "int", "uint", "double", "string", "bytes", "operator", "end"]

_WORD = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*)
    | (?P<string>[rRbB]{0,2}(?:
          \"\"\"(?:\\.|[^\\])*?\"\"\" | '''(?:\\.|[^\\])*?''' | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
      ))
    | (?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    | (?P<int>(?:0[xX][0-9a-fA-F]+|\d+)[uU]?)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<operator>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_SIMPLE_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "?": "?",
    '"': '"',
    "'": "'",
    "`": "`",
}


class CelSyntaxError(ValueError):
    """An expression that cannot be compiled, shown the way cel-go shows it."""

    def __init__(self, source: str, position: int, problem: str) -> None:
        line_start = source.rfind("\n", 0, position) + 1
        line_number = source.count("\n", 0, position) + 1
        line = source[line_start:].split("\n", 1)[0]
        column = position - line_start
        super().__init__(f"ERROR: <input>:{line_number}:{column + 1}: {problem}\n | {line}\n | {'.' * column}^")
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    position: int
    value: str | int | float | bytes = ""


def tokenize(source: str) -> Iterator[Token]:
    """The tokens of an expression, then one of kind `end`."""
    position = 0
    while position < len(source):
        found = _WORD.match(source, position)
        if found is None:
            raise CelSyntaxError(source, position, f"Syntax error: token recognition error at: '{source[position]}'")
        if found.lastgroup != "space":
            yield _token(source, found)
        position = found.end()
    yield Token("end", "<EOF>", len(source))


def _token(source: str, found: re.Match[str]) -> Token:
    text, start = found[0], found.start()
    match found.lastgroup:
        case "string":
            return _string(source, text, start)
        case "double":
            return Token("double", text, start, float(text))
        case "int" if text[-1] in "uU":
            return Token("uint", text, start, int(text[:-1], 0))
        case "int":
            return Token("int", text, start, int(text, 16) if text[:2] in ("0x", "0X") else int(text))
        case "name":
            return Token("name", text, start)
        case _:
            return Token("operator", text, start)


def _string(source: str, text: str, start: int) -> Token:
    prefix = re.match(r"[rRbB]*", text)
    marks = prefix[0].lower() if prefix else ""
    quoted = text[len(marks) :]
    fence = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
    body = quoted[fence:-fence]
    if "r" not in marks:
        body = _unescape(source, body, start)
    if "b" in marks:
        return Token("bytes", text, start, body.encode())
    return Token("string", text, start, body)


def _unescape(source: str, body: str, start: int) -> str:
    def replace(found: re.Match[str]) -> str:
        for digits, base in ((found[1], 16), (found[2], 16), (found[3], 16), (found[4], 16), (found[5], 8)):
            if digits is not None:
                return chr(int(digits, base))
        if found[6] not in _SIMPLE_ESCAPES:
            raise CelSyntaxError(source, start, f"Syntax error: unknown escape '\\{found[6]}' in a string")
        return _SIMPLE_ESCAPES[found[6]]

    return _ESCAPE.sub(replace, body)

"""The commands that the code of Mooring can print, found in its syntax trees.

A text is followed through f-strings, concatenations, conditions and the functions that build commands. A value that is
known only when it is printed is a placeholder.
"""

import ast
import itertools
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("mooring", "kubectl", "helm")
PLACEHOLDER = "\u00abvalue\u00bb"
_PROGRAM = rf"(?:{'|'.join(PROGRAMS)}) (?=[a-z\u00ab-])"
_BEGIN = re.compile(rf"(?<![\w./@-]){_PROGRAM}")
_QUOTES = "'`"
_TEMPLATE_VALUE = re.compile(r"\{[a-z_]+\}|%s")  # filled in by `str.format` or `%`
_SUBSTITUTION = re.compile(r"\$\([^()]*\)")  # what a shell fills in
_MOST_TEXTS = 64


@dataclass(frozen=True)
class PrintedCommand:
    """A command as it would be printed, and where."""

    place: str  # file and line
    text: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def find_commands(root: Path) -> list[PrintedCommand]:
    """All commands in the modules below a folder, each once for each line."""
    found = []
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in _texts_in(tree):
            for text in evaluate(node):
                place = f"{path.relative_to(root)}:{node.lineno}"
                found += [PrintedCommand(place, command) for command in extract(text)]
    return list(dict.fromkeys(found))


def extract(text: str) -> Iterator[str]:
    """The commands in a text.

    A text that begins with a command is pasted as a whole. In a sentence, a command is in quotes, or goes on to the end
    of the text.
    """
    text = _SUBSTITUTION.sub(PLACEHOLDER, text.strip())
    if _BEGIN.match(text):
        yield from split_shell(text)
        return
    for begin in _BEGIN.finditer(text):
        quote, rest = text[begin.start() - 1], text[begin.start() :]
        if quote in _QUOTES and quote in rest:
            yield from split_shell(rest[: rest.index(quote)])
        else:
            yield from split_shell(rest.rstrip(" .)"))
            return


def split_shell(text: str) -> Iterator[str]:
    """The simple commands of a command line, without those of other programs."""
    lexer = shlex.shlex(text, posix=False, punctuation_chars="&|;")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    for word in (*lexer, ";"):
        if set(word) <= set("&|;"):
            if words and words[0] in PROGRAMS:
                yield " ".join(words)
            words = []
        else:
            words.append(word)


def _texts_in(tree: ast.AST) -> Iterator[ast.expr]:
    """Expressions that make a text, the outermost of each; without docstrings."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.expr) and _makes_text(node):
            yield node
            continue
        waiting += ast.iter_child_nodes(node)


def _makes_text(node: ast.expr) -> bool:
    match node:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _makes_text(left) or _makes_text(right)
        case ast.Call():
            return _builder(node) is not None
    return False


def evaluate(node: ast.expr) -> list[str]:
    """Every text that an expression can become."""
    match node:
        case ast.Constant(value=str() as text):
            return [_TEMPLATE_VALUE.sub(PLACEHOLDER, text)]
        case ast.JoinedStr(values=parts):
            return _product([evaluate(part) for part in parts])
        case ast.FormattedValue(value=value):
            return evaluate(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _product([evaluate(left), evaluate(right)])
        case ast.IfExp(body=one, orelse=other):
            return [*evaluate(one), *evaluate(other)]
        case ast.BoolOp(values=values):
            return [text for value in values for text in evaluate(value)]
        case ast.Call() if _builder(node) is not None:
            return _build(node)
    return [PLACEHOLDER]


def _builder(call: ast.Call) -> str | None:
    name = ast.unparse(call.func)
    return name if name in ("kubectl", "patch_service", "patch_object", "_patch", "shlex.join") else None


def _build(call: ast.Call) -> list[str]:
    """What the functions of `planning.services.fixes` return."""
    match _builder(call):
        case "kubectl":
            return _joined(["kubectl", "-n", *_words(call.args)])
        case "shlex.join":
            inner = call.args[0]
            return _joined(_words(inner.elts) if isinstance(inner, ast.List | ast.Tuple) else [PLACEHOLDER])
        case "patch_service":
            target = [PLACEHOLDER, "patch", "managedservice", PLACEHOLDER]
        case _:
            namespace, kind, name = _words(call.args[:3])
            target = [namespace, "patch", kind, name]
    body = json.dumps({"spec": {PLACEHOLDER: PLACEHOLDER}})
    return _joined(["kubectl", "-n", *target, "--type", "merge", "-p", body])


def _words(arguments: list[ast.expr]) -> list[str]:
    return [evaluate(one)[0] for one in arguments if not isinstance(one, ast.Starred)]


def _joined(words: list[str]) -> list[str]:
    """Quoted for a shell; a placeholder stands for a value that needs no quotes."""
    marked = shlex.join(word.replace(PLACEHOLDER, "xPLACEHOLDERx") for word in words)
    return [marked.replace("xPLACEHOLDERx", PLACEHOLDER)]


def _product(parts: list[list[str]]) -> list[str]:
    texts = ("".join(chosen) for chosen in itertools.product(*parts))
    return list(itertools.islice(texts, _MOST_TEXTS))

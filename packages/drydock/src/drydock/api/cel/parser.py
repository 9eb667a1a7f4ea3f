"""CEL text to a tree. Macros (`has`, `all`, `map`...) are already recognized here, as in CEL itself."""

from dataclasses import dataclass
from typing import Any

from drydock.api.cel.tokens import RESERVED, CelSyntaxError, Token, tokenize

_RELATIONS = ("<", "<=", ">", ">=", "==", "!=", "in")
_MOST_NESTING = 50
_STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any
    position: int


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`; with `test` it is `has(operand.field)`, with `optional` it is `operand.?field`."""

    operand: "Node"
    field: str
    position: int
    test: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    operand: "Node"
    key: "Node"
    position: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, a method (with `target`), or an operator named as cel-go names it, such as `_+_`."""

    function: str
    target: "Node | None"
    arguments: "tuple[Node, ...]"
    position: int


@dataclass(frozen=True, slots=True)
class ListNode:
    items: "tuple[Node, ...]"
    position: int


@dataclass(frozen=True, slots=True)
class MapNode:
    entries: "tuple[tuple[Node, Node], ...]"
    position: int


@dataclass(frozen=True, slots=True)
class Macro:
    """`target.name(variables..., bodies...)`: `all exists exists_one filter map optMap optFlatMap`."""

    name: str
    target: "Node"
    variables: tuple[str, ...]
    bodies: "tuple[Node, ...]"
    position: int


Node = Literal | Name | Select | Index | Call | ListNode | MapNode | Macro

_MACRO_SHAPES = {  # name -> allowed (variables, bodies)
    "all": ((1, 1), (2, 1)),
    "exists": ((1, 1), (2, 1)),
    "exists_one": ((1, 1),),
    "existsOne": ((1, 1), (2, 1)),
    "filter": ((1, 1),),
    "map": ((1, 1), (1, 2)),
    "transformList": ((2, 1), (2, 2)),
    "optMap": ((1, 1),),
    "optFlatMap": ((1, 1),),
}


def parse_expression(source: str) -> Node:
    """The tree of an expression; raises `CelSyntaxError`."""
    parser = _Parser(source)
    tree = parser.expression()
    parser.expect_end()
    return tree


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = list(tokenize(source))
        self._at = 0
        self._depth = 0

    def expect_end(self) -> None:
        if self._here.kind != "end":
            raise self._error(f"Syntax error: extraneous input '{self._here.text}' expecting <EOF>")

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > _MOST_NESTING:
            raise self._error("expression is nested too deeply")
        condition = self._or()
        if (question := self._take("?")) is None:
            self._depth -= 1
            return condition
        then = self._or()
        self._need(":")
        otherwise = self.expression()
        self._depth -= 1
        return Call("_?_:_", None, (condition, then, otherwise), question.position)

    def _or(self) -> Node:
        left = self._and()
        while token := self._take("||"):
            left = Call("_||_", None, (left, self._and()), token.position)
        return left

    def _and(self) -> Node:
        left = self._relation()
        while token := self._take("&&"):
            left = Call("_&&_", None, (left, self._relation()), token.position)
        return left

    def _relation(self) -> Node:
        left = self._sum()
        while token := self._take(*_RELATIONS):
            name = "@in" if token.text == "in" else f"_{token.text}_"
            left = Call(name, None, (left, self._sum()), token.position)
        return left

    def _sum(self) -> Node:
        left = self._product()
        while token := self._take("+", "-"):
            left = Call(f"_{token.text}_", None, (left, self._product()), token.position)
        return left

    def _product(self) -> Node:
        left = self._unary()
        while token := self._take("*", "/", "%"):
            left = Call(f"_{token.text}_", None, (left, self._unary()), token.position)
        return left

    def _unary(self) -> Node:
        if token := self._take("!"):
            return Call("!_", None, (self._unary(),), token.position)
        if token := self._take("-"):
            operand = self._unary()
            if isinstance(operand, Literal) and type(operand.value) in (int, float):
                return Literal(-operand.value, token.position)
            return Call("-_", None, (operand,), token.position)
        return self._member()

    def _member(self) -> Node:
        node = self._primary()
        while token := self._take(".", "["):
            optional = self._take("?") is not None
            if token.text == "[":
                key = self.expression()
                self._need("]")
                node = Index(node, key, token.position, optional)
                continue
            name = self._need_name()
            opening = self._take("(")
            if opening is None:
                node = Select(node, name, token.position, optional=optional)
            else:
                node = self._method(node, name, self._arguments(")"), opening.position)
        return node

    def _method(self, target: Node, name: str, arguments: tuple[Node, ...], position: int) -> Node:
        for variables, bodies in _MACRO_SHAPES.get(name, ()):
            if len(arguments) == variables + bodies and all(isinstance(a, Name) for a in arguments[:variables]):
                names = tuple(a.name for a in arguments[:variables] if isinstance(a, Name))
                return Macro(name, target, names, arguments[variables:], position)
        return Call(name, target, arguments, position)

    def _primary(self) -> Node:
        token = self._here
        self._at += 1
        match token.kind, token.text:
            case (("int" | "uint" | "double" | "string" | "bytes"), _):
                return self._literal(token)
            case "name", "true" | "false":
                return Literal(token.text == "true", token.position)
            case "name", "null":
                return Literal(None, token.position)
            case "name", name if name in RESERVED or name == "in":
                raise CelSyntaxError(self._source, token.position, f"reserved identifier: {name}")
            case "name", name:
                return self._name_or_call(name, token.position)
            case "operator", "(":
                inner = self.expression()
                self._need(")")
                return inner
            case "operator", "[":
                return ListNode(self._arguments("]"), token.position)
            case "operator", "{":
                return self._map(token.position)
            case _:
                self._at -= 1
                raise self._error(f"Syntax error: mismatched input '{token.text}' expecting {_STARTS}")

    def _literal(self, token: Token) -> Node:
        if token.kind == "uint":
            return Call("uint", None, (Literal(token.value, token.position),), token.position)
        return Literal(token.value, token.position)

    def _name_or_call(self, name: str, position: int) -> Node:
        opening = self._take("(")
        if opening is None:
            return Name(name, position)
        arguments = self._arguments(")")
        if name != "has":
            return Call(name, None, arguments, opening.position)
        if len(arguments) != 1 or not isinstance(arguments[0], Select):
            raise CelSyntaxError(self._source, opening.position, "invalid argument to has() macro")
        field = arguments[0]
        return Select(field.operand, field.field, opening.position, test=True)

    def _map(self, position: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._take("}"):
            key = self.expression()
            self._need(":")
            entries.append((key, self.expression()))
            if not self._take(","):
                self._need("}")
                break
        return MapNode(tuple(entries), position)

    def _arguments(self, closing: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._take(closing):
            found.append(self.expression())
            if not self._take(","):
                self._need(closing)
                break
        return tuple(found)

    @property
    def _here(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> Token | None:
        token = self._here
        if token.text not in texts or token.kind not in ("operator", "name"):
            return None
        self._at += 1
        return token

    def _need(self, text: str) -> None:
        if self._take(text) is None:
            raise self._error(f"Syntax error: missing '{text}' at '{self._here.text}'")

    def _need_name(self) -> str:
        token = self._here
        if token.kind != "name" or token.text in ("true", "false", "null", "in"):
            raise self._error(f"Syntax error: no viable alternative at input '{token.text}'")
        self._at += 1
        return token.text

    def _error(self, problem: str) -> CelSyntaxError:
        return CelSyntaxError(self._source, self._here.position, problem)

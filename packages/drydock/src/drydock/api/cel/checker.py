"""The types of a CEL expression, found before it ever runs: a wrong rule is refused when its CRD is created."""

from collections.abc import Callable
from dataclasses import dataclass

from drydock.api.cel import library as cel_library
from drydock.api.cel import operators as cel_operators
from drydock.api.cel import texts as cel_texts
from drydock.api.cel.functions import FUNCTIONS, NAMESPACES, Overload
from drydock.api.cel.names import unescape
from drydock.api.cel.parser import Call, Index, ListNode, Literal, Macro, MapNode, Name, Node, Select
from drydock.api.cel.tokens import CelSyntaxError
from drydock.api.cel.values import CelError, parse_duration, parse_timestamp, type_name
from drydock.api.schema.patterns import PatternError, compile_pattern
from drydock.api.schema.shape import Schema

LIBRARIES = (cel_operators, cel_texts, cel_library)  # importing them fills FUNCTIONS
TYPE_NAMES = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type"})
_VISIBLE_METADATA = ("name", "generateName")
_SHOWN = {"quantity": "kubernetes.Quantity", "null_type": "null"}
_MAY_BE_NULL = ("object", "timestamp", "duration", "dyn", "null_type")


@dataclass(frozen=True, slots=True)
class Type:
    """What is known of a value: its type's name, and what is in it."""

    name: str
    element: "Type | None" = None
    schema: Schema | None = None

    def __str__(self) -> str:
        match self.name:
            case "list":
                return f"list({self.element or DYN})"
            case "map":
                return f"map(string, {self.element or DYN})"
            case _:
                return _SHOWN.get(self.name, self.name)


_READERS: dict[str, Callable[[str], object]] = {
    "duration": parse_duration,
    "timestamp": parse_timestamp,
    "matches": compile_pattern,
}
DYN = Type("dyn")
BOOL = Type("bool")
STRING = Type("string")
INT = Type("int")
_FORMATS = {
    "date-time": Type("timestamp"),
    "date": Type("timestamp"),
    "duration": Type("duration"),
    "byte": Type("bytes"),
}
_SCALARS = {"integer": INT, "number": Type("double"), "boolean": BOOL}


def type_of(schema: Schema) -> Type:
    """The type of values of this shape."""
    match schema.type:
        case "string":
            return _FORMATS.get(schema.format, STRING)
        case "array":
            return Type("list", type_of(schema.items) if schema.items else DYN)
        case "object" if schema.additional is not None:
            return Type("map", type_of(schema.additional))
        case "object":
            return Type("object", None, schema)
        case other:
            return _SCALARS.get(other, DYN)


def check(source: str, tree: Node, scope: dict[str, Type]) -> Type:
    """The type of the whole expression; raises `CelSyntaxError` where it cannot be right."""
    return _Checker(source).infer(tree, scope)


class _Checker:
    def __init__(self, source: str) -> None:
        self._source = source

    def infer(self, node: Node, scope: dict[str, Type]) -> Type:
        match node:
            case Literal():
                return Type(type_name(node.value))
            case Name():
                return self._name(node, scope)
            case Select():
                return self._select(node, scope)
            case Index():
                return self._index(node, scope)
            case ListNode():
                return Type("list", self._alike(node.items, scope))
            case MapNode():
                self._alike(tuple(key for key, _ in node.entries), scope)
                values = self._all(tuple(value for _, value in node.entries), scope)
                return Type("map", values[0] if len({value.name for value in values}) == 1 else DYN)
            case Macro():
                return self._macro(node, scope)
            case Call():
                return self._call(node, scope)

    def _alike(self, nodes: tuple[Node, ...], scope: dict[str, Type]) -> Type:
        kinds = self._all(nodes, scope)
        for node, kind in zip(nodes, kinds, strict=True):
            if not _comparable(kind, kinds[0]):
                raise self._error(node.position, f"expected type '{kinds[0]}' but found '{kind}'")
        return kinds[0] if kinds else DYN

    def _name(self, node: Name, scope: dict[str, Type]) -> Type:
        if node.name in scope:
            return scope[node.name]
        if node.name in TYPE_NAMES:
            return Type("type")
        raise self._error(node.position, f"undeclared reference to '{node.name}' (in container '')")

    def _select(self, node: Select, scope: dict[str, Type]) -> Type:
        operand = self.infer(node.operand, scope)
        if operand.name == "optional_type" and not node.test:
            return Type("optional_type", DYN)
        found = self._field(operand, unescape(node.field), node)
        if node.test:
            return BOOL
        return Type("optional_type", found) if node.optional else found

    def _field(self, operand: Type, field: str, node: Select) -> Type:
        match operand.name:
            case "dyn":
                return DYN
            case "map":
                return operand.element or DYN
            case "object" if operand.schema is not None:
                known = operand.schema.properties.get(field)
                hidden = operand.schema.name.endswith(".ObjectMeta") and field not in _VISIBLE_METADATA
                if known is None or hidden:
                    raise self._error(node.position, f"undefined field '{node.field}'")
                return type_of(known)
            case _:
                raise self._error(node.position, f"type '{operand}' does not support field selection")

    def _index(self, node: Index, scope: dict[str, Type]) -> Type:
        operand, key = self.infer(node.operand, scope), self.infer(node.key, scope)
        fits = {"list": ("int", "uint", "dyn"), "map": ("string", "dyn")}.get(operand.name)
        if operand.name == "dyn" or operand.name == "optional_type":
            return Type("optional_type", DYN) if node.optional else DYN
        if fits is None or key.name not in fits:
            raise self._no_overload(node.position, "_[_]", [operand, key])
        element = operand.element or DYN
        return Type("optional_type", element) if node.optional else element

    def _macro(self, node: Macro, scope: dict[str, Type]) -> Type:
        target = self.infer(node.target, scope)
        if node.name in ("optMap", "optFlatMap"):
            self.infer(node.bodies[0], scope | {node.variables[0]: target.element or DYN})
            return Type("optional_type", DYN)
        if target.name not in ("list", "map", "dyn"):
            problem = (
                f"expression of type '{target}' cannot be range of a comprehension (must be list, map, or dynamic)"
            )
            raise self._error(node.target.position, problem)
        inner = scope | dict(zip(node.variables, _loop_types(target, len(node.variables)), strict=True))
        kinds = [self.infer(body, inner) for body in node.bodies]
        yields_last = node.name in ("map", "transformList")
        self._need_truth(node.bodies[:-1] if yields_last else node.bodies, kinds)
        match node.name:
            case "map" | "transformList":
                return Type("list", kinds[-1])
            case "filter":
                return Type("list", inner[node.variables[0]])
            case _:
                return BOOL

    def _call(self, node: Call, scope: dict[str, Type]) -> Type:
        if isinstance(node.target, Name) and node.target.name in NAMESPACES and node.target.name not in scope:
            return self._function(node, f"{node.target.name}.{node.function}", False, self._all(node.arguments, scope))
        if node.target is not None and node.function == "format" and isinstance(node.arguments[0], ListNode):
            self._all(node.arguments[0].items, scope)  # the one list whose items need not be alike
            return self._function(node, "format", True, [self.infer(node.target, scope), Type("list", DYN)])
        if node.target is not None:
            return self._function(node, node.function, True, self._all((node.target, *node.arguments), scope))
        kinds = self._all(node.arguments, scope)
        match node.function:
            case "_&&_" | "_||_":
                self._need_truth(node.arguments, kinds)
                return BOOL
            case "_?_:_":
                self._require(node, kinds, kinds[0].name in ("bool", "dyn"))
                return kinds[1] if kinds[1].name == kinds[2].name else DYN
            case "_==_" | "_!=_":
                self._require(node, kinds, _comparable(*kinds))
                return BOOL
            case "@in" if kinds[1].name == "list":
                self._require(node, kinds, _comparable(kinds[0], kinds[1].element or DYN))
                return BOOL
        return self._function(node, node.function, False, kinds)

    def _all(self, nodes: tuple[Node, ...], scope: dict[str, Type]) -> list[Type]:
        return [self.infer(node, scope) for node in nodes]

    def _need_truth(self, nodes: tuple[Node, ...], kinds: list[Type]) -> None:
        for node, kind in zip(nodes, kinds, strict=False):
            if kind.name not in ("bool", "dyn"):
                raise self._error(node.position, f"expected type 'bool' but found '{kind}'")

    def _require(self, node: Call, kinds: list[Type], holds: bool) -> None:
        if not holds:
            raise self._no_overload(node.position, node.function, kinds)

    def _function(self, node: Call, name: str, is_method: bool, kinds: list[Type]) -> Type:
        overloads = FUNCTIONS.find(name, is_method)
        if not overloads:
            raise self._error(node.position, f"undeclared reference to '{node.function}' (in container '')")
        names = [kind.name for kind in kinds]
        fitting = [overload for overload in overloads if overload.takes(names)]
        if not fitting:
            raise self._no_overload(node.position, name, kinds, is_method=is_method)
        self._try_literal(node)
        results = {_result(overload, kinds) for overload in fitting}
        return results.pop() if len(results) == 1 else DYN

    def _try_literal(self, node: Call) -> None:
        """What is written out can be tried at once."""
        read = _READERS.get(node.function)
        last = node.arguments[-1] if node.arguments else None
        if read is None or not isinstance(last, Literal) or not isinstance(last.value, str):
            return
        try:
            read(last.value)
        except (CelError, PatternError) as problem:
            raise self._error(last.position, f"invalid {node.function} argument") from problem

    def _no_overload(self, position: int, name: str, kinds: list[Type], *, is_method: bool = False) -> CelSyntaxError:
        listed = ", ".join(map(str, kinds[1:] if is_method else kinds))
        given = f"{kinds[0]}.({listed})" if is_method else f"({listed})"
        return self._error(position, f"found no matching overload for '{name}' applied to '{given}'")

    def _error(self, position: int, problem: str) -> CelSyntaxError:
        return CelSyntaxError(self._source, position, problem)


def _loop_types(target: Type, count: int) -> list[Type]:
    element = target.element or DYN
    if target.name == "map":
        return [STRING, element][:count]
    if target.name == "list":
        return [INT, element] if count == 2 else [element]
    return [DYN] * count


def _comparable(left: Type, right: Type) -> bool:
    if "null_type" in (left.name, right.name):
        return left.name in _MAY_BE_NULL and right.name in _MAY_BE_NULL
    return left.name == right.name or "dyn" in (left.name, right.name)


def _result(overload: Overload, kinds: list[Type]) -> Type:
    element = next((kind.element for kind in kinds if kind.name == "list"), None) or DYN
    match overload.result:
        case "T":
            return element
        case "list(T)":
            return Type("list", element)
        case "list(string)":
            return Type("list", STRING)
        case name:
            return Type(name)

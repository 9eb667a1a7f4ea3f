"""CEL trees to functions: compiled once, called for every object."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from drydock.api.cel.checker import TYPE_NAMES
from drydock.api.cel.functions import FUNCTIONS, NAMESPACES
from drydock.api.cel.names import unescape
from drydock.api.cel.parser import Call, Index, ListNode, Literal, Macro, MapNode, Name, Node, Select
from drydock.api.cel.values import CelError, ObjectValue, OptionalValue, TypeName

Scope = Mapping[str, Any]
Evaluate = Callable[[Scope], Any]


def compile_tree(node: Node) -> Evaluate:
    """The function that evaluates the tree in a scope of variables; it raises `CelError`."""
    match node:
        case Literal():
            return lambda scope: node.value
        case Name():
            return _name(node.name)
        case Select():
            return _select(node)
        case Index():
            return _index(node)
        case ListNode():
            items = [compile_tree(item) for item in node.items]
            return lambda scope: [item(scope) for item in items]
        case MapNode():
            entries = [(compile_tree(key), compile_tree(value)) for key, value in node.entries]
            return lambda scope: {key(scope): value(scope) for key, value in entries}
        case Macro():
            return _macro(node)
        case Call():
            return _call(node)


def _name(name: str) -> Evaluate:
    def read(scope: Scope) -> Any:
        if name in scope:
            return scope[name]
        if name in TYPE_NAMES:
            return TypeName(name)
        raise CelError(f"no such attribute: {name}")

    return read


def _select(node: Select) -> Evaluate:
    operand, field = compile_tree(node.operand), unescape(node.field)

    def test(scope: Scope) -> bool:
        holder = operand(scope)
        if isinstance(holder, OptionalValue):
            holder = holder.value if holder.present else {}
        if not isinstance(holder, dict | ObjectValue):
            raise CelError("no such overload")
        return field in holder

    def read(scope: Scope) -> Any:
        holder = operand(scope)
        if isinstance(holder, OptionalValue):
            return _optionally(holder.value, field) if holder.present else holder
        if node.optional:
            return _optionally(holder, field)
        if isinstance(holder, ObjectValue) and field not in holder:
            raise CelError(f"no such key: {node.field}")
        return _lookup(holder, field)

    return test if node.test else read


def _index(node: Index) -> Evaluate:
    operand, key = compile_tree(node.operand), compile_tree(node.key)

    def read(scope: Scope) -> Any:
        holder, wanted = operand(scope), key(scope)
        if isinstance(holder, OptionalValue):
            return _optionally(holder.value, wanted) if holder.present else holder
        return _optionally(holder, wanted) if node.optional else _lookup(holder, wanted)

    return read


def _lookup(holder: Any, key: Any) -> Any:
    match holder:
        case ObjectValue() | dict():
            if key not in holder:
                raise CelError(f"no such key: {key}")
            return holder.get(key)
        case list() if isinstance(key, int) and not isinstance(key, bool):
            if not 0 <= key < len(holder):
                raise CelError(f"index out of bounds: {key}")
            return holder[key]
        case _:
            raise CelError("no such overload")


def _optionally(holder: Any, key: Any) -> OptionalValue:
    try:
        return OptionalValue(_lookup(holder, key))
    except CelError:
        return OptionalValue()


def _call(node: Call) -> Evaluate:
    if isinstance(node.target, Name) and node.target.name in NAMESPACES:
        return _function(f"{node.target.name}.{node.function}", False, node.arguments)
    if node.target is not None:
        return _function(node.function, True, (node.target, *node.arguments))
    match node.function:
        case "_&&_":
            return _logic(node.arguments, decides=False)
        case "_||_":
            return _logic(node.arguments, decides=True)
        case "_?_:_":
            return _choice(node.arguments)
        case _:
            return _function(node.function, False, node.arguments)


def _function(name: str, is_method: bool, arguments: tuple[Node, ...]) -> Evaluate:
    compiled = [compile_tree(argument) for argument in arguments]
    return lambda scope: FUNCTIONS.call(name, is_method, [argument(scope) for argument in compiled])


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError("no such overload")
    return value


def _logic(arguments: tuple[Node, ...], *, decides: bool) -> Evaluate:
    """`&&` and `||`: a side that decides wins over an error on the other, whichever comes first."""
    left, right = (compile_tree(argument) for argument in arguments)

    def decide(scope: Scope) -> bool:
        try:
            if _truth(left(scope)) is decides:
                return decides
        except CelError:
            if decided(scope):
                return decides
            raise
        return _truth(right(scope))

    def decided(scope: Scope) -> bool:
        try:
            return _truth(right(scope)) is decides
        except CelError:
            return False

    return decide


def _choice(arguments: tuple[Node, ...]) -> Evaluate:
    condition, then, otherwise = (compile_tree(argument) for argument in arguments)
    return lambda scope: then(scope) if _truth(condition(scope)) else otherwise(scope)


def _macro(node: Macro) -> Evaluate:
    target = compile_tree(node.target)
    bodies = [compile_tree(body) for body in node.bodies]

    def scopes(scope: Scope) -> Iterator[Scope]:
        for values in _loop(target(scope), len(node.variables)):
            yield {**scope, **dict(zip(node.variables, values, strict=True))}

    match node.name:
        case "all":
            return lambda scope: _any(scopes(scope), bodies[0], wanted=False) is False
        case "exists":
            return lambda scope: _any(scopes(scope), bodies[0], wanted=True)
        case "exists_one" | "existsOne":
            return lambda scope: sum(_truth(bodies[0](inner)) for inner in scopes(scope)) == 1
        case "filter":
            first = node.variables[0]
            return lambda scope: [inner[first] for inner in scopes(scope) if _truth(bodies[0](inner))]
        case "optMap" | "optFlatMap":
            return _optional_map(node, target, bodies[0])
        case _:
            kept, result = (bodies[0], bodies[1]) if len(bodies) == 2 else (lambda inner: True, bodies[0])
            return lambda scope: [result(inner) for inner in scopes(scope) if _truth(kept(inner))]


def _any(scopes: Iterator[Scope], body: Evaluate, *, wanted: bool) -> bool:
    """Is there one? As with `||`, one that is found outweighs errors on the way."""
    failure: CelError | None = None
    for inner in scopes:
        try:
            if _truth(body(inner)) is wanted:
                return True
        except CelError as error:
            failure = error
    if failure is not None:
        raise failure
    return False


def _loop(target: Any, count: int) -> Iterator[tuple[Any, ...]]:
    match target:
        case list():
            yield from enumerate(target) if count == 2 else ((item,) for item in target)
        case dict() | ObjectValue():
            yield from ((key, target.get(key))[:count] for key in iter(target))
        case _:
            raise CelError("no such overload")


def _optional_map(node: Macro, target: Evaluate, body: Evaluate) -> Evaluate:
    def apply(scope: Scope) -> Any:
        optional = target(scope)
        if not isinstance(optional, OptionalValue):
            raise CelError("no such overload")
        if not optional.present:
            return optional
        result = body({**scope, node.variables[0]: optional.value})
        return result if node.name == "optFlatMap" else OptionalValue(result)

    return apply

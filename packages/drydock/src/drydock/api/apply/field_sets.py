"""Sets of fields in the form of `fieldsV1`, and their algebra. Sets are never changed in place.

A set is a tree of steps: `f:<field>`, `k:<keys of a list item>`, `v:<value of a set item>`. A step leads to `{}` when
it is a member with nothing below, to a dict with `.` when it is a member itself, without `.` when only steps below are.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

FieldSet = dict[str, Any]
_ONLY_ITSELF: FieldSet = {}
_SELF = "."


def is_member(node: FieldSet) -> bool:
    """Whether the step that led here belongs to the set itself."""
    return not node or _SELF in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or not right:
        return left or right
    joined = dict(left)
    for step, node in right.items():
        mine = left.get(step)
        if mine is None:
            joined[step] = node
        elif mine is not node and step != _SELF:
            joined[step] = _node(union(_below(mine), _below(node)), member=is_member(mine) or is_member(node))
    return joined


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` and not in `right`. A parent in `right` takes nothing from its children in `left`."""
    kept: FieldSet | None = None
    for step, node in right.items():
        mine = left.get(step)
        if mine is None or step == _SELF:
            continue
        if kept is None:
            kept = dict(left)
        rest = difference(_below(mine), _below(node))
        member = is_member(mine) and not is_member(node)
        if rest or member:
            kept[step] = _node(rest, member=member)
        else:
            del kept[step]
    return left if kept is None else kept


def without_subtrees(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` and neither in `right` nor below a member of `right`."""
    kept = dict(left)
    for step, node in right.items():
        mine = left.get(step)
        if mine is None or step == _SELF:
            continue
        rest = {} if is_member(node) else without_subtrees(_below(mine), node)
        if is_member(node) or not (rest or is_member(mine)):
            del kept[step]
        else:
            kept[step] = _node(rest, member=is_member(mine))
    return kept


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    if len(left) > len(right):
        left, right = right, left
    shared: FieldSet = {}
    for step, node in left.items():
        other = right.get(step)
        if other is None or step == _SELF:
            continue
        below = intersection(_below(node), _below(other))
        member = is_member(node) and is_member(other)
        if below or member:
            shared[step] = _node(below, member=member)
    return shared


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """The members as people read them, such as `.spec.containers[name="web"].image`: a level's own first."""
    steps = sorted(step for step in fields if step != _SELF)
    for step in steps:
        if is_member(fields[step]):
            yield prefix + readable(step)
    for step in steps:
        yield from paths(_below(fields[step]), prefix + readable(step))


def readable(step: str) -> str:
    """One step of a path as people read it."""
    kind, _, rest = step.partition(":")
    match kind:
        case "f":
            return f".{rest}"
        case "k":
            keys: dict[str, Any] = msgspec.json.decode(rest)
            return f"[{','.join(f'{name}={_scalar(value)}' for name, value in keys.items())}]"
        case "v":
            return f"[={rest}]"
        case _:
            return f"[{rest}]"


def _scalar(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _below(node: FieldSet) -> FieldSet:
    if _SELF in node:
        return {step: child for step, child in node.items() if step != _SELF}
    return node


def _node(below: FieldSet, *, member: bool) -> FieldSet:
    if not below:
        return _ONLY_ITSELF
    return {_SELF: _ONLY_ITSELF, **below} if member else below

"""Strategic merge patch: a merge patch that knows which lists are keyed, and takes directives.

`$patch: delete|replace` on a map or an item, `$retainKeys`, `$deleteFromPrimitiveList/<field>` and
`$setElementOrder/<field>`. Keyed lists follow `Schema.patch_key`; lists of scalars merge when they are sets.
"""

from typing import Any, cast

from drydock.api.answers.status import Refusal
from drydock.api.patch.json_patch import copy_json
from drydock.api.schema.shape import ANY, Schema

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_DELETE = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"
_DROPPED = object()

Map = dict[str, Any]
List = list[Any]


def strategic_merge(schema: Schema, doc: Map, patch: object) -> Map:
    """The document with the patch merged in along its shape; 400 or 500 when a directive makes no sense."""
    if not isinstance(patch, dict):
        kind = "array" if isinstance(patch, list) else "value"
        raise _bad_request(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    return _merge_map(schema, copy_json(doc), copy_json(patch))


def _merge_map(schema: Schema, original: Map, patch: Map) -> Map:
    if (directive := patch.pop(_PATCH, None)) is not None:
        return _replaced_map(directive, patch)
    _retain_keys(original, patch)
    _merge_ordered_lists(schema, original, patch)
    for key, value in patch.items():
        if key.startswith(_DELETE):
            _delete_scalars(original, _field_of(key, _DELETE, "primitive list"), value)
        elif value is None:
            original.pop(key, None)
        else:
            _merge_field(schema.child(key), original, key, value)
    return original


def _replaced_map(directive: object, patch: Map) -> Map:
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise _broken(f"unknown patch type: {directive} in map: {_go({_PATCH: directive, **patch})}")


def _merge_field(schema: Schema, original: Map, key: str, value: Any) -> None:
    current = original.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        original[key] = value if schema.patch_replace else _merge_map(schema, current, value)
    elif isinstance(current, list) and isinstance(value, list):
        original[key] = _merge_list(schema, current, value) if _merges(schema) else value
    else:
        kept = _plain(value)
        if kept is _DROPPED:
            original.pop(key, None)
        else:
            original[key] = kept


def _merges(schema: Schema) -> bool:
    return bool(schema.patch_key) or schema.list_type == "set"


def _merge_list(schema: Schema, original: List, patch: List) -> List:
    if not original and not patch:
        return original
    key = schema.patch_key if _holds_maps(original, patch) else ""
    if key:
        original, patch = _obey_item_directives(original, patch, key)
        merged = _merge_items(schema.items or ANY, original, patch, key)
    else:
        merged = list(dict.fromkeys(original + patch))
    named = _identities(patch, key)
    return _interleave(merged, named, _identities(original, key), key)


def _holds_maps(original: List, patch: List) -> bool:
    kinds = {type(item) for item in original + patch}
    if len(kinds) > 1 or list in kinds:
        raise _broken(f"list element types are not identical: {_go([original, patch])}")
    return kinds == {dict}


def _obey_item_directives(original: List, patch: List, key: str) -> tuple[List, List]:
    """The list with `$patch: delete` items gone, and the patch without directives; `replace` empties the former."""
    plain: List = []
    replace = False
    for item in patch:
        match item.get(_PATCH):
            case None:
                plain.append(item)
            case "delete":
                gone = _identity(item, key)
                original = [other for other in original if other.get(key) != gone]
            case "replace":
                replace = True
            case "merge":
                raise _broken("merging lists cannot yet be specified in the patch")
            case unknown:
                raise _broken(f"unknown patch type: {unknown} in map: {_go(item)}")
    return (plain, []) if replace else (original, plain)


def _merge_items(schema: Schema, original: List, patch: List, key: str) -> List:
    merged = list(original)
    places: dict[Any, int] = {}
    for place, item in enumerate(merged):
        places.setdefault(item.get(key), place)
    for item in patch:
        identity = _identity(item, key)
        if identity in places:
            merged[places[identity]] = _merge_map(schema, merged[places[identity]], item)
        else:
            places[identity] = len(merged)
            merged.append(item)
    return merged


def _merge_ordered_lists(schema: Schema, original: Map, patch: Map) -> None:
    for directive in [key for key in patch if key.startswith(_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _broken(f"expected a []interface {{}}, but received a {_go_type(order)}")
        field = _field_of(directive, _ORDER, "setElementOrder list")
        added = patch.pop(field, None)
        live = original.get(field)
        if live is None and added is None:
            continue
        original[field] = _merge_in_order(schema.child(field), live or [], added or [], order, added_only=live is None)


def _merge_in_order(schema: Schema, live: List, added: List, order: List, *, added_only: bool) -> List:
    key = schema.patch_key
    wanted = _identities(order, key)
    _check_order(added, wanted, order, key)
    merged = live
    if added_only:
        merged = cast(List, _plain(added))
    elif added:
        merged = _merge_list(schema, list(live), added)
    return _interleave(merged, wanted, _identities(live, key), key)


def _check_order(added: List, wanted: List, order: List, key: str) -> None:
    """What the patch adds must appear in the order list, in that order."""
    if not added or not wanted:
        return
    left = iter(wanted)
    for item in added:
        if key and _PATCH in item:
            continue
        if not any(identity == _identity(item, key) for identity in left):
            raise _broken(f"The order in patch list:\n{_go(added)}\n doesn't match {_ORDER} list:\n{_go(order)}\n")


def _interleave(merged: List, wanted: List, live: List, key: str) -> List:
    """Named items in the wanted order, the others in the live order, woven together by their live places."""
    rank = {identity: place for place, identity in reversed(list(enumerate(wanted)))}
    place = {identity: index for index, identity in reversed(list(enumerate(live)))}
    named = [item for item in merged if _identity(item, key) in rank]
    others = [item for item in merged if _identity(item, key) not in rank]
    named.sort(key=lambda item: rank[_identity(item, key)])
    others.sort(key=lambda item: place.get(_identity(item, key), len(place)))
    woven: List = []
    for item in named:
        here = place.get(_identity(item, key))
        while here is not None and others and place.get(_identity(others[0], key), len(place)) < here:
            woven.append(others.pop(0))
        woven.append(item)
    return woven + others


def _retain_keys(original: Map, patch: Map) -> None:
    kept = patch.pop(_RETAIN, None)
    if kept is None:
        return
    set_here = {key for key, value in patch.items() if value is not None and not key.startswith((_DELETE, _ORDER))}
    if not isinstance(kept, list) or not set_here.issubset(kept):
        raise _bad_request("invalid patch format of retainKeys")
    for key in original.keys() - set(kept):
        del original[key]


def _delete_scalars(original: Map, field: str, gone: Any) -> None:
    current = original.get(field)
    if isinstance(current, list) and isinstance(gone, list):
        original[field] = [item for item in current if item not in gone]


def _plain(value: Any) -> Any:
    """A patch value where nothing was before: no nulls, and nothing that carries a directive."""
    if isinstance(value, dict):
        if _PATCH in value:
            return _DROPPED
        kept = {key: _plain(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in kept.items() if item is not _DROPPED}
    if isinstance(value, list):
        return [item for item in map(_plain, value) if item is not _DROPPED]
    return value


def _identities(items: List, key: str) -> List:
    return [_identity(item, key) for item in items]


def _identity(item: Any, key: str) -> Any:
    if not key:
        return item
    if not isinstance(item, dict):
        raise _broken(f"expected a map[string]interface {{}}, but received a {_go_type(item)}")
    if key not in item:
        raise _broken(f"map: {_go(item)} does not contain declared merge key: {key}")
    if isinstance(item[key], dict | list):
        raise _broken(f"merge key {key} is a {_go_type(item[key])}")
    return item[key]


def _field_of(directive: str, prefix: str, what: str) -> str:
    head, slash, field = directive.partition("/")
    if head != prefix or not slash:
        raise _bad_request(f"invalid patch format of {what}")
    return field


def _bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def _broken(message: str) -> Refusal:
    return Refusal(500, "", message)  # not a kind word, but the one the server has for a misused directive


def _go(value: Any) -> str:
    """A value as Go prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "<nil>" if value is None else str(value)


def _go_type(value: Any) -> str:
    names = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64"}
    return names.get(type(value), "float64")

"""CEL's library as Kubernetes has it, beyond texts: lists, sets, times, quantities and optionals."""

from datetime import datetime, timedelta
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from drydock.api.cel.functions import FUNCTIONS
from drydock.api.cel.operators import int64
from drydock.api.cel.values import (
    CelError,
    OptionalValue,
    Quantity,
    equal,
    to_quantity,
)

define = FUNCTIONS.define


@define("size(string) -> int", "size(bytes) -> int", "size(list) -> int", "size(map) -> int")
@define("string.size() -> int", "bytes.size() -> int", "list.size() -> int", "map.size() -> int")
def _size(value: Any) -> int:
    return len(value)


@define("list.isSorted() -> bool")
def _is_sorted(items: list[Any]) -> bool:
    return all(_ordered(left, right) for left, right in pairwise(items))


def _ordered(left: Any, right: Any) -> bool:
    return bool(FUNCTIONS.call("_<=_", False, (left, right)))


@define("list.sum() -> T")
def _sum(items: list[Any]) -> Any:
    total = items[0] if items else 0
    for item in items[1:]:
        total = FUNCTIONS.call("_+_", False, (total, item))
    return total


@define("list.min() -> T")
def _min(items: list[Any]) -> Any:
    return _extreme(items, "min called on empty list", smallest=True)


@define("list.max() -> T")
def _max(items: list[Any]) -> Any:
    return _extreme(items, "max called on empty list", smallest=False)


def _extreme(items: list[Any], when_empty: str, *, smallest: bool) -> Any:
    if not items:
        raise CelError(when_empty)
    found = items[0]
    for item in items[1:]:
        if _ordered(item, found) == smallest:
            found = item
    return found


@define("list.indexOf(dyn) -> int")
def _list_index_of(items: list[Any], value: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(item, value)), -1)


@define("list.lastIndexOf(dyn) -> int")
def _list_last_index_of(items: list[Any], value: Any) -> int:
    return max((index for index, item in enumerate(items) if equal(item, value)), default=-1)


@define("list.distinct() -> list(T)")
def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not any(equal(item, other) for other in found):
            found.append(item)
    return found


@define("list.reverse() -> list(T)")
def _reverse(items: list[Any]) -> list[Any]:
    return list(reversed(items))


@define("list.flatten() -> list")
def _flatten(items: list[Any]) -> list[Any]:
    return [inner for item in items for inner in (item if isinstance(item, list) else [item])]


@define("list.sort() -> list(T)")
def _sort(items: list[Any]) -> list[Any]:
    return sorted(items, key=cmp_to_key(lambda left, right: -1 if _ordered(left, right) else 1))


@define("list.slice(int, int) -> list(T)")
def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


@define("sets.contains(list, list) -> bool")
def _set_contains(whole: list[Any], part: list[Any]) -> bool:
    return all(any(equal(item, other) for other in whole) for item in part)


@define("sets.equivalent(list, list) -> bool")
def _set_equivalent(left: list[Any], right: list[Any]) -> bool:
    return bool(_set_contains(left, right) and _set_contains(right, left))


@define("sets.intersects(list, list) -> bool")
def _set_intersects(left: list[Any], right: list[Any]) -> bool:
    return any(equal(item, other) for item in left for other in right)


def _getter(name: str, read: Any) -> None:
    define(f"timestamp.{name}() -> int")(read)


_getter("getFullYear", lambda moment: moment.year)
_getter("getMonth", lambda moment: moment.month - 1)
_getter("getDate", lambda moment: moment.day)
_getter("getDayOfMonth", lambda moment: moment.day - 1)
_getter("getDayOfWeek", lambda moment: moment.isoweekday() % 7)
_getter("getDayOfYear", lambda moment: moment.timetuple().tm_yday - 1)


@define("timestamp.getHours() -> int", "duration.getHours() -> int")
def _hours(value: Any) -> int:
    return value.hour if isinstance(value, datetime) else int(value.total_seconds() // 3600)


@define("timestamp.getMinutes() -> int", "duration.getMinutes() -> int")
def _minutes(value: Any) -> int:
    return value.minute if isinstance(value, datetime) else int(value.total_seconds() // 60)


@define("timestamp.getSeconds() -> int", "duration.getSeconds() -> int")
def _seconds(value: Any) -> int:
    return value.second if isinstance(value, datetime) else int(value.total_seconds())


@define("timestamp.getMilliseconds() -> int", "duration.getMilliseconds() -> int")
def _milliseconds(value: Any) -> int:
    return value.microsecond // 1000 if isinstance(value, datetime) else value // timedelta(milliseconds=1)


@define("quantity(string) -> quantity")
def _quantity(text: str) -> Quantity:
    return to_quantity(text)


@define("isQuantity(string) -> bool")
def _is_quantity(text: str) -> bool:
    try:
        to_quantity(text)
    except CelError:
        return False
    return True


@define("quantity.isGreaterThan(quantity) -> bool")
def _quantity_greater(left: Quantity, right: Quantity) -> bool:
    return left.value > right.value


@define("quantity.isLessThan(quantity) -> bool")
def _quantity_less(left: Quantity, right: Quantity) -> bool:
    return left.value < right.value


@define("quantity.compareTo(quantity) -> int")
def _quantity_compare(left: Quantity, right: Quantity) -> int:
    return (left.value > right.value) - (left.value < right.value)


@define("quantity.sign() -> int")
def _quantity_sign(quantity: Quantity) -> int:
    return (quantity.value > 0) - (quantity.value < 0)


@define("quantity.add(quantity) -> quantity", "quantity.add(int) -> quantity")
def _quantity_add(left: Quantity, right: Any) -> Quantity:
    return Quantity(left.value + (right.value if isinstance(right, Quantity) else right))


@define("quantity.sub(quantity) -> quantity", "quantity.sub(int) -> quantity")
def _quantity_subtract(left: Quantity, right: Any) -> Quantity:
    return Quantity(left.value - (right.value if isinstance(right, Quantity) else right))


@define("quantity.isInteger() -> bool")
def _quantity_is_integer(quantity: Quantity) -> bool:
    return quantity.value.denominator == 1


@define("quantity.asInteger() -> int")
def _quantity_integer(quantity: Quantity) -> int:
    if not _quantity_is_integer(quantity):
        raise CelError("cannot convert value to integer")
    return int64(int(quantity.value))


@define("quantity.asApproximateFloat() -> double")
def _quantity_float(quantity: Quantity) -> float:
    return float(quantity.value)


@define("optional.of(dyn) -> optional_type")
def _optional_of(value: Any) -> OptionalValue:
    return OptionalValue(value)


@define("optional.none() -> optional_type")
def _optional_none() -> OptionalValue:
    return OptionalValue()


@define("optional_type.hasValue() -> bool")
def _has_value(optional: OptionalValue) -> bool:
    return optional.present


@define("optional_type.value() -> dyn")
def _value(optional: OptionalValue) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


@define("optional_type.orValue(dyn) -> dyn")
def _or_value(optional: OptionalValue, otherwise: Any) -> Any:
    return optional.value if optional.present else otherwise


@define("optional_type.or(optional_type) -> optional_type")
def _or(optional: OptionalValue, otherwise: OptionalValue) -> OptionalValue:
    return optional if optional.present else otherwise

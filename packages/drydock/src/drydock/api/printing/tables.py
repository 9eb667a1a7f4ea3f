"""Server-side printing: objects as the table that `kubectl get` shows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from drydock.api.kinds.kind import Column, Kind, Object
from drydock.api.printing.ages import since
from drydock.api.printing.columns import AGE, NAME, row_conditions
from drydock.api.printing.jsonpath import parse_path

_PLAIN = (NAME, AGE)


def table_for(kind: Kind, objects: Sequence[Object], now: datetime, *, include: str = "Metadata") -> dict[str, Any]:
    """A `meta.k8s.io/v1` Table without its list metadata. `include`: what a row carries, None, Metadata or Object."""
    columns = kind.columns or _PLAIN
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": [_row(kind, columns, item, now, include) for item in objects],
    }


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else "",
        "description": column.description,
        "priority": column.priority,
    }


def _row(kind: Kind, columns: Sequence[Column], item: Object, now: datetime, include: str) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": [_cell(column, item, now) for column in columns]}
    if conditions := row_conditions(kind, item):
        row["conditions"] = conditions
    match include:
        case "Object":
            row["object"] = item
        case "None":
            row["object"] = None
        case _:
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": item["metadata"],
            }
    return row


def _cell(column: Column, item: Object, now: datetime) -> Any:
    if column.compute is not None:
        return column.compute(item, now)
    found = parse_path(column.json_path).find(item)
    if not found or found[0] is None:
        return None
    value = found[0]
    match column.type, value:
        case "string", _:
            return " ".join(_text(each) for each in found)
        case "date", str():
            return since(value, now)
        case "integer", int() | float():
            return int(value)
        case "number", int() | float():
            return value
        case "boolean", bool():
            return value
        case _:
            return None


def _text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "<nil>"
        case _:
            return str(value)

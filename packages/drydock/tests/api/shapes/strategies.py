"""Sends definitions and custom objects through their strategies, as the verbs do."""

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from drydock.api.answers.status import Cause
from drydock.api.custom.definition import DefinitionStrategy, kinds_of
from drydock.api.kinds.kind import Context, Kind

Json = dict[str, Any]

CONTEXT = Context(
    now=datetime(2026, 3, 1, tzinfo=UTC), new_uid=lambda: "uid", lookup=lambda group, plural, namespace, name: None
)


def define(definition: Json) -> tuple[Json, list[Cause]]:
    """A new definition as it would be stored, and what is wrong with it."""
    new = deepcopy(definition)
    strategy = DefinitionStrategy()
    strategy.prepare_create(new, CONTEXT)
    return new, list(strategy.validate_create(new, CONTEXT))


def kind_of(definition: Json) -> Kind:
    """The first kind of a definition that must be right."""
    new, wrong = define(definition)
    assert not wrong
    return kinds_of(new)[0]


def create(kind: Kind, body: Json) -> tuple[Json, list[Cause]]:
    """A new object as it would be stored, and what is wrong with it."""
    new = deepcopy(body)
    kind.strategy.prepare_create(new, CONTEXT)
    return new, list(kind.strategy.validate_create(new, CONTEXT))


def update(kind: Kind, body: Json, old: Json, subresource: str = "") -> tuple[Json, list[Cause]]:
    """A changed object as it would be stored, and what is wrong with it."""
    new = deepcopy(body)
    kind.strategy.prepare_update(new, old, subresource, CONTEXT)
    return new, list(kind.strategy.validate_update(new, old, subresource, CONTEXT))


def told(wrong: list[Cause]) -> list[list[str]]:
    """Causes in the form they are recorded in."""
    return sorted([cause.reason, cause.field, cause.message] for cause in wrong)

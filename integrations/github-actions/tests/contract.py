"""Holds the fake GitHub, and whoever calls it, to GitHub's published schemas."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from ..demo.samples import load  # type: ignore[import-not-found]


def find_faults(source: str, schema: dict[str, Any] | None, body: object) -> list[str]:
    """What does not fit; empty if all does."""
    if schema is None:
        return [] if body is None else [f"a body where none is described: {body}"]
    from jsonschema import Draft7Validator  # its import takes seconds, which each process of a test run would pay

    whole = {**schema, "definitions": load(source)["definitions"]}
    return [f"{'/'.join(map(str, fault.path))}: {fault.message}" for fault in Draft7Validator(whole).iter_errors(body)]


class Contract:
    """Collects what does not fit. Routes of the fake that GitHub does not have begin with `/_`."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.used: set[str] = set()

    @web.middleware
    async def check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        answer: web.Response = await handler(request)
        resource = request.match_info.route.resource
        assert resource is not None
        if resource.canonical.startswith("/_"):
            return answer
        name = f"{request.method} {resource.canonical}"
        operation = load("rest")["operations"][name]
        self.used.add(name)
        sent = await request.json() if request.can_read_body else None
        faults = find_faults("rest", operation["body"], sent) if sent is not None else []
        for field, value in request.query.items():
            schema = operation["query"].get(field)
            given: object = int(value) if schema and schema.get("type") == "integer" else value
            faults += find_faults("rest", schema, given) if schema else [f"unknown parameter {field}"]
        if str(answer.status) in operation["answers"]:
            body = json.loads(answer.body) if answer.body else None
            described = operation["answers"][str(answer.status)]
            faults += find_faults("rest", described, body) if described else []
        self.faults += [f"{name} {answer.status}: {fault}" for fault in faults]
        return answer


@contextmanager
def held_to_contract() -> Iterator[Contract]:
    """Fails at the end if anything did not fit."""
    contract = Contract()
    yield contract
    assert contract.faults == []

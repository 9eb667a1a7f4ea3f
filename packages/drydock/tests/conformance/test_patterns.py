"""Patterns of custom kinds: both API servers accept, refuse and find the same."""

from typing import Any

from hawser.resources import CRDS, Resource
from packages.drydock.tests.api.schema.pattern_cases import (
    FOUND,
    FOUND_ALL,
    REFUSED,
    pattern_definition,
    pattern_schema,
)
from packages.drydock.tests.conformance.world import Body, HostedCluster, Probe


async def _define(p: Probe, name: str, schema: Body) -> Resource[Any]:
    definition = pattern_definition(name, schema)
    await p.client.create(CRDS.raw(), definition)

    async def established() -> bool:
        status = (await p.get(CRDS, definition["metadata"]["name"])).get("status", {})
        return any(c["type"] == "Established" and c["status"] == "True" for c in status.get("conditions") or ())

    await p.until(established)
    return Resource("patterns.example.com", "v1", f"{name}s", name.capitalize(), False, dict)


def test_a_pattern_finds_the_same(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        patterns = [pattern for pattern, _, _ in FOUND]
        resource = await _define(p, "found", pattern_schema(patterns))
        spec = {f"p{number}": text for number, (_, text, _) in enumerate(FOUND)}
        error = await p.refusal(p.make(resource, "all", spec=spec))
        missed = {cause.field.removeprefix("spec.") for cause in error.causes}
        assert missed == {f"p{number}" for number, (_, _, found) in enumerate(FOUND) if not found}

    cluster.run(probe)


def test_a_pattern_is_refused_in_the_same_words(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        schema = pattern_schema([pattern for pattern, _ in REFUSED])
        error = await p.refusal(p.client.create(CRDS.raw(), pattern_definition("refused", schema)))
        said = {cause.field.rpartition("properties[p")[2]: cause.message for cause in error.causes}
        for number, (_, words) in enumerate(REFUSED):
            message = said[f"{number}].pattern"]
            assert message.endswith(f"must be a valid regular expression, but isn't: error parsing regexp: {words}")

    cluster.run(probe)


def test_a_rule_finds_the_same(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        rules = [f"self.text{n}.findAll(r'{pattern}') == {found}" for n, (pattern, _, found) in enumerate(FOUND_ALL)]
        fields = {f"text{number}": {"type": "string", "maxLength": 10} for number in range(len(rules))}
        spec = {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "x-kubernetes-validations": [{"rule": rule} for rule in rules],
        }
        resource = await _define(p, "rule", {"type": "object", "properties": {"spec": spec}})
        texts = {f"text{number}": text for number, (_, text, _) in enumerate(FOUND_ALL)}
        await p.make(resource, "all", spec=texts)
        error = await p.refusal(p.make(resource, "none", spec=dict.fromkeys(fields, "9")))
        assert len(error.causes) == len(rules)

    cluster.run(probe)


def test_a_rule_with_a_pattern_that_backtracks_elsewhere_is_refused(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        spec = {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self.matches('(?=a)b')"}]}
        schema = {"type": "object", "properties": {"spec": spec}}
        error = await p.refusal(p.client.create(CRDS.raw(), pattern_definition("ahead", schema)))
        assert "invalid matches argument" in error.message

    cluster.run(probe)

"""Mooring's own kinds and Karpenter's: views with the fields and defaults of the CRDs."""

import json
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hawser.decoding import decoder_for
from hawser.resources import Resource
from mooring.kinds import load_crds
from mooring.kinds.karpenter import NODECLAIMS, NODEPOOLS
from mooring.kinds.resources import KINDS, MANAGEDSERVICES, SUBMISSIONS, WARMUPS, WORKERPOOLS

CRDS = {crd["spec"]["names"]["plural"]: crd for crd in load_crds()}
OPEN = "x-kubernetes-preserve-unknown-fields"
STANDARD = {"apiVersion", "kind", "metadata", "(defects)"}


def view_in(annotation: Any) -> type[msgspec.Struct] | None:
    """The view that a field holds, be it alone, optional or in a tuple."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    return next((view for part in typing.get_args(annotation) if (view := view_in(part))), None)


def differences(place: str, schema: dict[str, Any], view: type[msgspec.Struct]) -> Iterator[str]:
    properties = {**schema.get("properties", {}), **schema.get("items", {}).get("properties", {})}
    fields = {field.encode_name: field for field in msgspec.structs.fields(view)}
    takes_more = schema.get(OPEN) or schema.get("items", {}).get(OPEN)  # what it does not name it keeps all the same
    for name in (properties.keys() ^ fields.keys()) - STANDARD - (fields.keys() if takes_more else set()):
        yield f"{place}.{name} is only in the {'CRD' if name in properties else 'view'}"
    for name in (properties.keys() & fields.keys()) - STANDARD:
        default, inner = properties[name].get("default", {}), view_in(fields[name].type)
        if default != {} and default != fields[name].default:
            yield f"{place}.{name} is {default!r} by default in the CRD and {fields[name].default!r} in the view"
        if inner is not None:
            yield from differences(f"{place}.{name}", properties[name], inner)


@pytest.mark.parametrize("resource", [WORKERPOOLS, WARMUPS, SUBMISSIONS, MANAGEDSERVICES], ids=lambda each: each.kind)
def test_the_view_is_the_crd(resource: Resource[Any]) -> None:
    spec = CRDS[resource.plural]["spec"]
    (version,) = spec["versions"]
    assert (spec["group"], version["name"], spec["names"]["kind"]) == (resource.group, resource.version, resource.kind)
    assert list(differences(resource.kind, version["schema"]["openAPIV3Schema"], resource.view)) == []


def read(resource: Resource[Any], body: dict[str, Any]) -> Any:
    return decoder_for(resource.view).object(json.dumps(body).encode())


@pytest.mark.parametrize("resource", [WORKERPOOLS, WARMUPS, NODECLAIMS])
def test_an_object_with_nothing_in_it_has_defaults(resource: Resource[Any]) -> None:
    found = read(resource, {})
    assert found == resource.view()
    assert found.metadata.labels == {}


def test_a_worker_pool_is_read_with_the_defaults_of_its_contract() -> None:
    template = {"spec": {"containers": [{"name": "c", "anything": {"goes": None}}]}}
    pool = read(WORKERPOOLS, {"spec": {"warm": 3, "max": 9, "template": template, "mint": {"url": "http://m"}}})
    assert (pool.spec.warm, pool.spec.max, pool.spec.slots, pool.spec.reuse) == (3, 9, 1, "Never")
    assert (pool.spec.idle_seconds, pool.spec.dispatch) == (300, "Push")
    assert (pool.spec.protection.ceiling_seconds, pool.spec.protection.grace_seconds) == (3600, 600)
    assert pool.spec.protection.budget
    assert pool.spec.template == template


def test_a_warmup_is_read_with_the_defaults_of_its_contract() -> None:
    shard = {"shard": 1, "node": "n", "nodeUID": "u", "job": "j", "state": "Ready"}
    warmup = read(
        WARMUPS, {"spec": {"dataset": "d", "localPath": "/x"}, "status": {"shards": [shard], "nodesReady": 1}}
    )
    assert (warmup.spec.attempts, warmup.spec.attempt_delay_seconds, warmup.spec.propagation_seconds) == (6, 30, 60)
    assert (warmup.spec.fail_after_restarts, warmup.spec.deadline_seconds, warmup.spec.mode) == (5, 3600, "Shard")
    assert warmup.status.shards[0].node_uid == "u"


def test_karpenters_kinds_are_read() -> None:
    pool = read(
        NODEPOOLS,
        {
            "spec": {
                "limits": {"cpu": 1000, "memory": "1Ti"},
                "template": {"spec": {"expireAfter": "720h", "terminationGracePeriod": "1h"}},
                "disruption": {"consolidationPolicy": "WhenEmpty", "budgets": [{"nodes": "10%", "reasons": None}]},
            }
        },
    )
    assert pool.spec.limits == {"cpu": 1000, "memory": "1Ti"}
    assert pool.spec.template.spec.termination_grace_period == "1h"
    assert pool.spec.disruption.budgets[0].nodes == "10%"
    claim = read(
        NODECLAIMS,
        {
            "metadata": {"labels": {"karpenter.sh/nodepool": "np"}},
            "status": {"nodeName": "n", "providerID": "i", "conditions": [{"type": "Drifted", "status": "True"}]},
        },
    )
    assert (claim.node_pool, claim.status.node_name, claim.status.provider_id) == ("np", "n", "i")


def test_every_definition_has_a_resource() -> None:
    served = {(crd["spec"]["names"]["kind"], crd["spec"]["names"]["plural"]) for crd in load_crds()}
    assert served == {(resource.kind, resource.plural) for resource in KINDS}

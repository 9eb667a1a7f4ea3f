"""A pool that makes no sense is refused by the cluster itself, and kubectl names the field."""

from typing import Any

import pytest

from packages.mooring.tests.acceptance.pools import pool_body
from packages.mooring.tests.acceptance.world import Up

OWN_LABEL = {"metadata": {"labels": {"mooring.dev/pool": "stolen"}}}
OWN_ANNOTATION = {"metadata": {"annotations": {"mooring.dev/claim": "forged"}}}
CONTAINER = {"spec": {"containers": [{"name": "worker", "image": "w"}]}}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"warm": 7, "max": 6}, "spec.warm"),
        ({"warm": -1}, "spec.warm"),
        ({"max": -1, "warm": 0}, "spec.max"),
        ({"slots": 0}, "spec.slots"),
        ({"idleSeconds": -1}, "spec.idleSeconds"),
        ({"warm": "three"}, "spec.warm"),
        ({"reuse": "Sometimes"}, "spec.reuse"),
        ({"dispatch": "Pigeon"}, "spec.dispatch"),
        ({"placement": {"nodePool": "blast", "nodeSelector": {"a": "b"}}}, "spec.placement"),
        ({"template": {**CONTAINER, **OWN_LABEL}}, "spec.template.metadata.labels"),
        ({"template": {**CONTAINER, **OWN_ANNOTATION}}, "spec.template.metadata.annotations"),
        ({"protection": {"graceSeconds": -1}}, "spec.protection.graceSeconds"),
        ({"template": {"spec": {"containers": []}}}, "spec.template.spec.containers"),
    ],
    ids=str,
)
def test_a_senseless_pool_is_refused_and_the_field_is_named(up: Up, spec: dict[str, Any], field: str):
    body = pool_body(up, "senseless", **spec)
    body["metadata"]["namespace"] = "runners"
    refused = up.kubectl("create", "-f", "-", "--validate=false", body=body, check=False)
    assert refused.code == 1
    assert field in refused.err, refused.err
    assert up.kubectl("-n", "runners", "get", "workerpool", "senseless", check=False).code == 1


def test_a_floor_above_the_ceiling_cannot_be_scaled_to(up: Up):
    refused = up.kubectl("-n", "runners", "scale", "workerpool", "linux", "--replicas=21", check=False)
    assert refused.code == 1
    assert "spec.warm" in refused.err, refused.err
    assert up.pool("runners/linux")["spec"]["warm"] == 8

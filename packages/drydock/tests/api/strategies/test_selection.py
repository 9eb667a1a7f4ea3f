"""Selectors of workloads: compared with the labels of their template, if they can be read."""

import pytest

from packages.drydock.tests.api.caller import caller


@pytest.mark.parametrize(
    ("requirement", "field"),
    [
        ({"key": "a", "operator": "Exists"}, ""),
        ({"key": "a", "operator": "NotIn", "values": ["b"]}, "spec.template.metadata.labels"),
        ({"key": "a", "operator": "Unknown"}, "spec.selector.matchExpressions[0].operator"),
    ],
)
async def test_a_selector_that_cannot_be_read_is_not_compared_with_labels(
    requirement: dict[str, object], field: str
) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example/app"}]}
    spec = {
        "manualSelector": True,
        "selector": {"matchExpressions": [requirement]},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
    }
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec}
    answer = await caller().post("/apis/batch/v1/namespaces/default/jobs", body)
    assert answer.status == (422 if field else 201)
    causes = answer.body["details"]["causes"] if field else []
    assert [cause["field"] for cause in causes] == ([field] if field else [])

"""The spec of a pool: what is wrong with it is named by its field, before anything is made of it."""

import pytest

from mooring.model.pool import PoolSpec, check_spec


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        ({"containers": [{"resources": {"requests": {"cpu": "CPU"}}}]}, "containers[0].resources.requests.cpu"),
        ({"containers": [{}, {"resources": {"limits": {"memory": "1 GB"}}}]}, "containers[1].resources.limits.memory"),
        ({"containers": [{}], "initContainers": [{"resources": {"requests": {"cpu": {}}}}]}, "initContainers[0]"),
        ({"containers": [{"resources": {"requests": ["1"]}}]}, "containers[0].resources.requests"),
        ({"containers": [{}], "resources": {"requests": {"cpu": "-1"}}}, "resources.requests.cpu"),
    ],
)
def test_an_amount_that_cannot_be_read_is_named(pod: dict[str, object], field: str) -> None:
    problems = check_spec(PoolSpec(max=1, template={"spec": pod}))
    assert any(f"spec.template.spec.{field}" in str(problem) for problem in problems), problems


def test_amounts_as_kubernetes_writes_them_are_right() -> None:
    resources = {"requests": {"cpu": "100m", "memory": "1.5Gi", "nvidia.com/gpu": 1}, "limits": None}
    assert not check_spec(PoolSpec(max=1, template={"spec": {"containers": [{"resources": resources}]}}))

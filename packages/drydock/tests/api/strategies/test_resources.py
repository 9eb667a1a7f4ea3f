"""Quantities as a real kube-apiserver has written them back."""

import pytest

from drydock.api.strategies.pods import quality_of_service
from drydock.api.strategies.resources import canonical
from hawser.errors import InvalidInput


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("0", "0"), ("00", "0"), ("0m", "0"), ("0Ki", "0"), ("1.0", "1"), (2, "2"), ("0.5", "500m"), (0.5, "500m"),
        (".5", "500m"), ("1000m", "1"), ("1500m", "1500m"), ("1.5", "1500m"), ("0.0001", "1m"), ("1n", "1m"),
        ("1.0001", "1001m"), ("1000k", "1M"), ("1000000", "1M"), ("123456789", "123456789"), ("1024", "1024"),
        ("1048576", "1048576"), ("1024Ki", "1Mi"), ("1.5Ki", "1536"), ("0.5Ki", "512"), ("1500Ki", "1500Ki"),
        ("1.5Gi", "1536Mi"), ("1000Mi", "1000Mi"), ("1e3", "1e3"), ("12e6", "12e6"), ("1.5e3", "1500"),
        ("1e10", "10e9"), ("1e-3", "1e-3"), ("-0.5Gi", "-512Mi"),
    ],
)  # fmt: skip
def test_a_quantity_is_stored_in_its_canonical_form(given: str | int | float, stored: str) -> None:
    assert canonical(given) == stored


@pytest.mark.parametrize("given", ["1e999999999", "1e-999999999", "9" * 1000])
def test_a_quantity_that_would_fill_the_memory_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="quantity"):
        canonical(given)


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"example.com/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}], "Burstable"),
    ],
)
def test_the_quality_of_service_follows_from_requests_and_limits(
    containers: list[dict[str, object]], expected: str
) -> None:
    spec = {"containers": [{"name": str(index), "resources": each} for index, each in enumerate(containers)]}
    assert quality_of_service(spec) == expected

"""Numbers beyond every integer type do not keep a pod from being read."""

import json

import pytest

from hawser.decoding import decoder_for
from hawser.views import Pod

PORT = {"containers": [{"name": "main", "ports": [{"containerPort": 10**30}]}]}
TOLERATION = {"tolerations": [{"key": "a", "tolerationSeconds": 10**30}]}
WEIGHT = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10**30}]}}}


@pytest.mark.parametrize("spec", [PORT, TOLERATION, WEIGHT], ids=["port", "toleration", "weight"])
def test_a_pod_with_a_number_that_no_encoding_has_is_read_all_the_same(spec: dict[str, object]) -> None:
    pod = decoder_for(Pod).object(json.dumps({"metadata": {"name": "p"}, "spec": spec}).encode())
    assert pod.metadata.name == "p"

"""Merging an owner's template into a pod that Mooring makes."""

import copy
from typing import Any

import msgspec
import pytest

from mooring.model.pod_template import PodTemplate
from mooring.planning.pod_template import shape_pod
from packages.mooring.tests.model.test_pod_template import IDENTITY

OWN: dict[str, Any] = {
    "metadata": {"labels": {"mooring.dev/step": "a"}, "annotations": {"mooring.dev/node-uid": "u"}},
    "spec": {
        "restartPolicy": "Never",
        "initContainers": [{"name": "fetch", "image": "i"}],
        "containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": "mooring-data", "mountPath": "/d"}]}],
        "volumes": [{"name": "mooring-data", "emptyDir": {}}],
    },
}
TEMPLATE = msgspec.convert(IDENTITY, PodTemplate)


def test_a_pod_without_a_template_is_the_same_pod():
    assert shape_pod(PodTemplate(), OWN) is OWN


def test_the_template_is_added_to_the_pod_and_to_each_of_its_containers():
    before = copy.deepcopy(OWN)
    pod = shape_pod(TEMPLATE, OWN)
    assert before == OWN, "what goes in is not changed"
    assert pod["metadata"] == {
        "labels": {**IDENTITY["labels"], "mooring.dev/step": "a"},
        "annotations": {**IDENTITY["annotations"], "mooring.dev/node-uid": "u"},
    }
    spec = pod["spec"]
    assert spec["volumes"] == [*OWN["spec"]["volumes"], *IDENTITY["volumes"]]
    for field in ("serviceAccountName", "automountServiceAccountToken", "imagePullSecrets", "securityContext"):
        assert spec[field] == IDENTITY[field]
    assert spec["priorityClassName"] == "batch" and spec["terminationGracePeriodSeconds"] == 60
    fetch, main = spec["initContainers"][0], spec["containers"][0]
    assert fetch["volumeMounts"] == IDENTITY["volumeMounts"]
    assert main["volumeMounts"] == [{"name": "mooring-data", "mountPath": "/d"}, *IDENTITY["volumeMounts"]]
    for container in (fetch, main):
        assert container["resources"] == IDENTITY["resources"]
        assert container["securityContext"] == {"readOnlyRootFilesystem": True}
    assert "nodeSelector" not in spec and "tolerations" not in spec, "they are part of the placement"


@pytest.mark.parametrize(
    ("field", "ours", "theirs"),
    [("serviceAccountName", "ours", "theirs"), ("automountServiceAccountToken", False, True)],
)
def test_what_mooring_sets_stays(field: str, ours: object, theirs: object):
    pod = {**OWN, "spec": {**OWN["spec"], field: ours}}
    assert shape_pod(msgspec.convert({field: theirs}, PodTemplate), pod)["spec"][field] == ours


def test_a_false_is_not_left_out():
    template = PodTemplate(automount_service_account_token=False, termination_grace_period_seconds=0)
    spec = shape_pod(template, OWN)["spec"]
    assert (spec["automountServiceAccountToken"], spec["terminationGracePeriodSeconds"]) == (False, 0)


def test_two_pods_of_one_template_share_nothing():
    first, second = shape_pod(TEMPLATE, OWN), shape_pod(TEMPLATE, OWN)
    first["spec"]["volumes"][1]["name"] = "changed"
    assert second["spec"]["volumes"][1]["name"] == "identity"

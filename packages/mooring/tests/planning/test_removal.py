"""What `mooring uninstall` takes off a worker's pod, and what it leaves."""

import pytest

from mooring.model import names
from mooring.planning.removal import MarkedPod, plan_unprotect, plan_unstamp

FENCE = {"uid": "u", "resourceVersion": "7"}
DISRUPTION = {names.DO_NOT_DISRUPT: "true", names.SAFE_TO_EVICT: "false"}
STAMP = {names.CLAIM: "c", names.EPOCH: "3", names.STAMPED_AT: "now", names.SEAL: "s"}


def pod(labels: dict[str, str], annotations: dict[str, str]) -> MarkedPod:
    return MarkedPod("runners", "linux-0", "u", "7", labels, annotations)


def test_protection_goes_with_its_label_and_both_annotations():
    found = plan_unprotect(pod({names.POOL: "linux", names.BUSY: "true"}, DISRUPTION))
    assert found == {
        "metadata": {**FENCE, "labels": {names.BUSY: None}, "annotations": dict.fromkeys(DISRUPTION)},
    }


def test_protection_that_the_template_of_a_user_sets_stays():
    assert plan_unprotect(pod({names.POOL: "linux"}, DISRUPTION)) is None


def test_a_stamp_goes_and_what_a_reinstalled_mooring_needs_stays():
    kept = {names.TENANT: "acme", names.SPEC_HASH: "h", names.LEDGER: "l"}
    found = plan_unstamp(pod({names.POOL: "linux", names.OWNER: "acme"}, {**STAMP, **kept}))
    assert found == {"metadata": {**FENCE, "labels": {names.OWNER: None}, "annotations": dict.fromkeys(STAMP)}}


@pytest.mark.parametrize("plan", [plan_unprotect, plan_unstamp])
def test_a_pod_without_marks_is_left_alone(plan):
    assert plan(pod({names.POOL: "linux", names.WORKER: "linux-0"}, {"note": "mine"})) is None

"""An older control plane beside a newer one: what it does not know, it leaves as it is."""

import copy

from hawser.resources import CRDS, PODS
from mooring.kinds import load_crds
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"
TOMORROW = {"mood": "calm"}


async def install_tomorrows_pools(world: Harbour) -> None:
    """The CRD of a later release: one more field in the spec, one in the status."""
    [crd] = [copy.deepcopy(one) for one in load_crds() if one["spec"]["names"]["kind"] == "WorkerPool"]
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    for part in ("spec", "status"):
        properties[part]["properties"]["tomorrow"] = {"type": "object", "additionalProperties": {"type": "string"}}
    await world.client.apply(CRDS, crd, field_manager="newer", force=True)
    await world.clock.sleep(1)


async def test_fields_labels_and_annotations_of_a_newer_release_outlive_all_that_an_older_one_does(world):
    await install_tomorrows_pools(world)
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=3, reuse="Always", tomorrow=TOMORROW)
    await world.until_idle(1)
    noted, told = {"metadata": {"annotations": {"mooring.dev/tomorrow": "a"}}}, {"status": {"tomorrow": TOMORROW}}
    await world.client.merge_patch(WORKERPOOLS, "linux", noted, NAMESPACE)
    await world.client.merge_patch(WORKERPOOLS, "linux", told, NAMESPACE, subresource="status")
    [pod] = await world.pods()
    marks = {"labels": {"mooring.dev/tomorrow": "b"}, "annotations": {"mooring.dev/tomorrow": "c"}}
    await world.client.merge_patch(PODS, pod.metadata.name, {"metadata": marks}, NAMESPACE)
    claim = await desk.claim(POOL, ClaimRequest("acme"))
    assert claim.pod_uid == pod.metadata.uid
    await world.clock.sleep(10)
    await desk.release(claim.id, claim.epoch)
    await world.change({"warm": 2})
    await world.until_idle(2)
    pool = await world.client.get(WORKERPOOLS.raw(), "linux", NAMESPACE)
    assert pool["spec"]["tomorrow"] == pool["status"]["tomorrow"] == TOMORROW
    assert pool["metadata"]["annotations"]["mooring.dev/tomorrow"] == "a"
    kept = (await world.client.get(PODS, pod.metadata.name, NAMESPACE)).metadata
    assert kept.uid == pod.metadata.uid
    assert (kept.labels["mooring.dev/tomorrow"], kept.annotations["mooring.dev/tomorrow"]) == ("b", "c")

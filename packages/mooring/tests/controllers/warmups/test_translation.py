"""Reading Jobs that others made: where they are pinned, whatever way was used."""

import msgspec
import pytest

from hawser.views import Job
from hawser.views.pod import PodSpec
from mooring.controllers.warmups.manifests import job_manifest
from mooring.controllers.warmups.translation import adopted_from_view, job_from_view
from mooring.engine.pins import Pin, read_pin
from mooring.model import names
from mooring.planning.warmups.plan import plan_warmup
from packages.mooring.tests.planning.warmups.datasets import dataset, nodes, snapshot


def affinity(*terms):
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def named(key, *values, operator="In"):
    return [{"key": key, "operator": operator, "values": list(values)}]


@pytest.mark.parametrize(
    ("spec", "pin"),
    [
        ({}, Pin()),
        ({"nodeName": "a"}, Pin("a")),
        ({"nodeSelector": {"kubernetes.io/hostname": "a"}}, Pin(hostname="a")),
        ({"nodeSelector": {"zone": "a"}}, Pin()),
        (affinity({"matchFields": named("metadata.name", "a")}), Pin("a")),
        (affinity({"matchExpressions": named("metadata.name", "a")}), Pin()),
        (affinity({"matchExpressions": named("kubernetes.io/hostname", "a")}), Pin(hostname="a")),
        (affinity({"matchFields": named("metadata.name", "a")}, {"matchFields": named("metadata.name", "b")}), Pin()),
        (affinity({"matchExpressions": named("kubernetes.io/hostname", "a", "b")}), Pin()),
        (affinity({"matchFields": named("metadata.name", "a", operator="NotIn")}), Pin()),
    ],
)
def test_a_pin_is_read(spec, pin):
    assert read_pin(msgspec.convert(spec, PodSpec)) == pin


def test_the_job_that_is_made_is_the_job_that_is_read_back():
    warmup = dataset(shards=1, verify=["check"], env=[{"name": "MOORING_SHARD", "value": "mine"}])
    shot = snapshot(warmup, nodes(1))
    (create,) = plan_warmup(shot).creates
    body = job_manifest(warmup, create, shot.survey.placed)
    server = {"uid": "job-uid", "creationTimestamp": "2026-03-01T12:00:00Z", "resourceVersion": "5"}
    job = job_from_view(msgspec.convert({**body, "metadata": {**body["metadata"], **server}}, Job))
    assert (job.node, job.node_uid, job.shard, job.owner_uid) == ("node-0", "node-0-uid", 0, warmup.uid)
    settled = plan_warmup(snapshot(warmup, nodes(1), job))
    assert (settled.releases, settled.creates) == ((), ())


def test_the_pod_is_pinned_by_the_nodes_field_and_our_variables_win():
    warmup = dataset(
        shards=1, dataset="$(HOME)", env=[{"name": "MOORING_SHARD", "value": "mine"}, {"name": "A", "value": "b"}]
    )
    shot = snapshot(warmup, nodes(1))
    body = job_manifest(warmup, plan_warmup(shot).creates[0], shot.survey.placed)
    pod = body["spec"]["template"]["spec"]
    assert "nodeName" not in pod
    assert [one["name"] for one in pod["initContainers"]] == ["fetch"]
    values = [(one["name"], one.get("value")) for one in pod["initContainers"][0]["env"]]
    assert ("A", "b") in values and ("MOORING_SHARD", "0") in values and ("MOORING_SHARD", "mine") not in values
    assert ("MOORING_DATASET", "$$(HOME)") in values, "the kubelet would expand it"
    assert body["metadata"]["annotations"][names.NODE_UID] == "node-0-uid"


def test_marks_of_ours_on_a_job_of_another_tool_are_not_believed():
    marks = {names.NODE_UID: "u", names.GENERATION: "1", names.SPEC_HASH: "h", names.REWARM: "r"}
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "c", "controller": True}
    raw = {"name": "old", "creationTimestamp": "2026-03-01T12:00:00Z", "annotations": marks, "ownerReferences": [owner]}
    job = adopted_from_view(msgspec.convert({"metadata": raw}, Job), "app=x")
    assert (job.node_uid, job.generation, job.spec_hash, job.round, job.shard) == ("", "", "", "", None)
    assert (job.adopted, job.owner, job.owner_uid) == ("app=x", "CronJob nightly", "")

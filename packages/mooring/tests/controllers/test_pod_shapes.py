"""Pods as each kind builds them: what a template adds, and what does not change without one."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from hawser.views.base import Meta
from mooring.controllers.services.manifests import deployment_manifest
from mooring.controllers.submissions.manifests import job_manifest
from mooring.controllers.warmups.manifests import cleanup_manifest
from mooring.kinds.views import Submission
from mooring.model.pod_template import PodTemplate
from mooring.model.service import Service, ServiceSpec
from mooring.model.submission import SubmissionSpec, spec_hash, steps_of
from mooring.model.warm_data import DataCopy
from mooring.model.warmup import Warmup, WarmupSpec
from mooring.planning.placement import Placed
from mooring.planning.services.plan import Desired, desired_state
from mooring.planning.services.preflight import PlacementCheck
from mooring.planning.submissions.plan import CreateJob, Pinned
from mooring.planning.warmups.jobs import template_hash
from mooring.planning.warmups.reclaim import CreateCleanup
from packages.mooring.tests.model.test_pod_template import IDENTITY

WORK = {"key": "k", "program": "p", "batches": [{}]}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}


def step_pod(template: dict[str, Any], pinned: Pinned, placed: Placed) -> dict[str, Any]:
    spec = msgspec.convert({**WORK, "podTemplate": template}, SubmissionSpec)
    view = Submission(metadata=Meta(name="k", namespace="ns", uid="u"), spec=spec)
    pod: dict[str, Any] = job_manifest(view, CreateJob(steps_of(spec)[0], pinned), placed, ())["spec"]["template"][
        "spec"
    ]
    return pod


def test_a_pinned_step_keeps_the_affinity_of_its_template():
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [ZONE]}]}}
    spread = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    pinned = Pinned({"node-2": "u2", "node-1": "u1"})
    pod = step_pod({"affinity": {"nodeAffinity": required, **spread}}, pinned, Placed(prefer=("node-9",)))
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [(term["matchExpressions"], term["matchFields"][0]["values"]) for term in terms] == [
        ([ZONE], ["node-1"]),
        ([ZONE], ["node-2"]),
    ]
    assert pod["affinity"]["podAntiAffinity"] == spread["podAntiAffinity"]
    assert "preferredDuringSchedulingIgnoredDuringExecution" not in pod["affinity"]["nodeAffinity"]


def test_a_cleanup_can_pull_its_image_and_needs_no_volume_that_may_be_gone():
    spec = msgspec.convert({"dataset": "nt", "image": "i", "podTemplate": IDENTITY}, WarmupSpec)
    warmup = Warmup("ns", "w", "u", 1, datetime(2026, 3, 1, tzinfo=UTC), spec)
    made = cleanup_manifest(warmup, CreateCleanup("clean", DataCopy(node="n", node_uid="nu", path="/mnt/nt")))
    pod = made["spec"]["template"]
    assert pod["spec"]["imagePullSecrets"] == IDENTITY["imagePullSecrets"]
    assert pod["spec"]["securityContext"] == IDENTITY["securityContext"]
    assert [volume["name"] for volume in pod["spec"]["volumes"]] == ["mooring-data"]
    assert [mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]] == ["mooring-data"]
    assert IDENTITY["labels"].items() <= pod["metadata"]["labels"].items()


def test_without_a_template_every_hash_is_what_it_was_before_there_were_templates():
    """An upgrade of Mooring must not roll Deployments, refuse running submissions or make warm Jobs again."""
    spec = ServiceSpec(image="i", port=80)
    parts = (spec.image, spec.command, spec.args, spec.port, spec.openapi_path, spec.env, spec.placement)
    before = hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]
    check = PlacementCheck(Placed(), True)
    assert desired_state(Service("ns", "s", "u", 1, spec), check).spec_hash == before
    shaped = msgspec.structs.replace(spec, pod_template=PodTemplate(labels={"a": "b"}))
    assert desired_state(Service("ns", "s", "u", 1, shaped), check).spec_hash != before
    work = msgspec.convert(WORK, SubmissionSpec)
    parts = {**WORK, "placement": {}}  # as it was encoded then
    assert spec_hash(work) == hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]
    assert spec_hash(msgspec.structs.replace(work, pod_template=PodTemplate(labels={"a": "b"}))) != spec_hash(work)
    assert template_hash(WarmupSpec(dataset="nt")) == ""


@pytest.mark.parametrize(
    ("template", "mounted"),
    [
        ({}, False),
        ({"automountServiceAccountToken": True}, True),
        ({"serviceAccountName": "operator"}, None),
        ({"serviceAccountName": "operator", "automountServiceAccountToken": False}, False),
    ],
    ids=["a program that names no account needs no token", "unless it asks for one", "as its account says", "or not"],
)
def test_a_service_gets_the_token_of_its_account_only_if_it_asks_for_it(template, mounted):
    spec = msgspec.convert({"image": "i", "port": 80, "podTemplate": template}, ServiceSpec)
    made = deployment_manifest(Service("ns", "api", "u", 1, spec), Desired("api", "current", Placed()))
    assert made["spec"]["template"]["spec"].get("automountServiceAccountToken") is mounted

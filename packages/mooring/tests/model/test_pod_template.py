"""What an owner may add to pods, and what is refused: each conflict by its field, with the value and the way out."""

from typing import Any

import msgspec
import pytest

from mooring.model.errors import InvalidInput
from mooring.model.placement import Placement
from mooring.model.pod_template import PodTemplate, SiblingFields, check_pod_template
from mooring.model.service import Service, ServiceSpec, check_service
from mooring.model.submission import SubmissionSpec
from mooring.model.submission_checks import check_submission
from mooring.model.warmup import WarmupSpec, check_spec

WARM = {"dataset": "nt", "image": "fetch"}
WORK = {"key": "k", "program": "p", "batches": [{}]}
SERVED = {"image": "web", "port": 80}
TOKEN = {"serviceAccountToken": {"audience": "api://AzureADTokenExchange", "expirationSeconds": 3600, "path": "token"}}
IDENTITY: dict[str, Any] = {
    "labels": {"azure.workload.identity/use": "true", "app": "search"},
    "annotations": {"sidecar.istio.io/inject": "false", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
    "serviceAccountName": "searcher",
    "automountServiceAccountToken": True,
    "volumes": [{"name": "identity", "projected": {"sources": [TOKEN]}}, {"name": "data", "emptyDir": {}}],
    "volumeMounts": [{"name": "identity", "mountPath": "/var/run/secrets/azure/tokens", "readOnly": True}],
    "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
    "imagePullSecrets": [{"name": "registry"}],
    "securityContext": {"runAsUser": 1000, "fsGroup": 1000},
    "containerSecurityContext": {"readOnlyRootFilesystem": True},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "priorityClassName": "batch",
    "terminationGracePeriodSeconds": 60,
}


def warmup(template: dict[str, Any], **changes: Any) -> list[InvalidInput]:
    return check_spec(msgspec.convert({**WARM, **changes, "podTemplate": template}, WarmupSpec))


def submission(template: dict[str, Any], **changes: Any) -> list[InvalidInput]:
    return check_submission(msgspec.convert({**WORK, **changes, "podTemplate": template}, SubmissionSpec))


def service(template: dict[str, Any], **changes: Any) -> list[InvalidInput]:
    spec = msgspec.convert({**SERVED, **changes, "podTemplate": template}, ServiceSpec)
    return check_service(Service("ns", "api", "u", 1, spec))


KINDS = {"warmup": warmup, "submission": submission, "service": service}


@pytest.mark.parametrize("kind", KINDS)
def test_workload_identity_and_the_rest_of_a_pods_shape_is_allowed(kind: str):
    assert KINDS[kind](IDENTITY) == []


EVERYWHERE: dict[str, tuple[dict[str, Any], str, str]] = {
    "a label of ours": ({"labels": {"mooring.dev/pool": "x"}}, "spec.podTemplate.labels[mooring.dev/pool]", "'x'"),
    "a label of Jobs": (
        {"labels": {"batch.kubernetes.io/job-name": "x"}},
        "spec.podTemplate.labels[batch.kubernetes.io/job-name]",
        "'x'",
    ),
    "an old label of Jobs": ({"labels": {"controller-uid": "x"}}, "spec.podTemplate.labels[controller-uid]", "'x'"),
    "a label of Deployments": (
        {"labels": {"pod-template-hash": "x"}},
        "spec.podTemplate.labels[pod-template-hash]",
        "'x'",
    ),
    "a label that is none": ({"labels": {"app": "a b"}}, "spec.podTemplate.labels[app]", "'a b'"),
    "a key that is none": ({"annotations": {"a b": "x"}}, "spec.podTemplate.annotations", "'a b'"),
    "an annotation of ours": (
        {"annotations": {"mooring.dev/node-uid": "x"}},
        "spec.podTemplate.annotations[mooring.dev/node-uid]",
        "'x'",
    ),
    "an account that is none": ({"serviceAccountName": "A"}, "spec.podTemplate.serviceAccountName", "'A'"),
    "a volume of ours": (
        {"volumes": [{"name": "mooring-scripts", "emptyDir": {}}]},
        "spec.podTemplate.volumes[0].name",
        "'mooring-scripts'",
    ),
    "a volume twice": (
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]},
        "spec.podTemplate.volumes[1].name",
        "spec.podTemplate.volumes[0] has this one",
    ),
    "a mount of no volume": (
        {"volumeMounts": [{"name": "nope", "mountPath": "/x"}]},
        "spec.podTemplate.volumeMounts[0].name",
        "'nope'",
    ),
    "a mount over ours": (
        {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "//mooring/./x"}]},
        "spec.podTemplate.volumeMounts[0].mountPath",
        "/mooring belongs to Mooring",
    ),
    "a path twice": (
        {
            "volumes": [{"name": "a", "emptyDir": {}}],
            "volumeMounts": [{"name": "a", "mountPath": "/x"}, {"name": "a", "mountPath": "/x/"}],
        },
        "spec.podTemplate.volumeMounts[1].mountPath",
        "spec.podTemplate.volumeMounts[0] has this one",
    ),
    "a relative path": (
        {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "x"}]},
        "spec.podTemplate.volumeMounts[0].mountPath",
        "'x'",
    ),
    "no amount": ({"resources": {"limits": {"cpu": "many"}}}, "spec.podTemplate.resources.limits.cpu", "many"),
    "no secret": ({"imagePullSecrets": [{"name": 3}]}, "spec.podTemplate.imagePullSecrets[0].name", "3"),
    "a number for a text": (
        {"tolerations": [{"key": 3}]},
        "spec.podTemplate.tolerations[0].key",
        "3",
    ),
    "a long grace": (
        {"terminationGracePeriodSeconds": 86_401},
        "spec.podTemplate.terminationGracePeriodSeconds",
        "86401",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", EVERYWHERE)
def test_a_conflict_is_refused_by_its_field_in_every_kind(kind: str, case: str):
    template, field, words = EVERYWHERE[case]
    (problem,) = KINDS[kind](template)
    assert problem.field == field and words in str(problem)
    assert problem.fix


def test_two_accounts_are_refused_and_the_same_twice_is_not():
    for judge in (warmup, submission):
        (problem,) = judge({"serviceAccountName": "a"}, serviceAccount="b")
        assert (
            problem.field == "spec.podTemplate.serviceAccountName" and "'b', as spec.serviceAccount is" in problem.fix
        )
        assert judge({"serviceAccountName": "a"}, serviceAccount="a") == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_selector_that_contradicts_the_placement_is_refused(kind: str):
    judge = KINDS[kind]
    (problem,) = judge({"nodeSelector": {"disk": "ssd"}}, placement={"nodeSelector": {"disk": "hdd"}})
    assert (
        problem.field == "spec.podTemplate.nodeSelector[disk]"
        and "'hdd', as spec.placement.nodeSelector" in problem.fix
    )
    (problem,) = judge({"nodeSelector": {"agentpool": "a"}}, placement={"nodePool": "b"})
    assert (
        problem.field == "spec.podTemplate.nodeSelector[agentpool]" and "'b', as spec.placement.nodePool" in problem.fix
    )
    assert judge({"nodeSelector": {"disk": "ssd"}}, placement={"nodeSelector": {"disk": "ssd"}}) == []


def test_a_step_with_a_placement_of_its_own_is_compared_with_that():
    problems = submission({"nodeSelector": {"disk": "ssd"}}, batches=[{"placement": {"nodeSelector": {"disk": "hdd"}}}])
    assert [problem.fix for problem in problems] == [
        "spec.podTemplate.nodeSelector[disk] must be 'hdd', as spec.batches[0].placement.nodeSelector is, or left out"
    ]


def test_a_submissions_own_volumes_mounts_and_resources_count():
    own = {
        "volumes": [{"name": "a", "emptyDir": {}}],
        "volumeMounts": [{"name": "a", "mountPath": "/a"}],
        "resources": {"limits": {"cpu": "1"}},
    }
    template = {
        "volumes": [{"name": "a", "emptyDir": {}}],
        "volumeMounts": [{"name": "a", "mountPath": "/a"}],
        "resources": {"limits": {"cpu": "2"}},
    }
    assert [problem.field for problem in submission(template, **own)] == [
        "spec.podTemplate.volumes[0].name",
        "spec.podTemplate.volumeMounts[0].mountPath",
        "spec.podTemplate.resources",
    ]
    assert submission({"volumeMounts": [{"name": "a", "mountPath": "/b"}], "resources": own["resources"]}, **own) == []


@pytest.mark.parametrize(
    ("path", "used"), [("", "/var/lib/mooring/nt"), ("/mnt/nt/", "/mnt/nt"), ("/mnt/nt", "/mnt/nt/x")]
)
def test_the_folder_of_a_dataset_belongs_to_the_warmup(path: str, used: str):
    template = {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": used}]}
    (problem,) = warmup(template, localPath=path)
    assert problem.field == "spec.podTemplate.volumeMounts[0].mountPath" and "belongs to spec.localPath" in problem.fix


def test_a_warmup_chooses_its_nodes_itself():
    spread = {"affinity": {"podAffinity": {}}, "topologySpreadConstraints": [{"maxSkew": 1}]}
    assert [problem.field for problem in warmup(spread)] == [
        "spec.podTemplate.affinity",
        "spec.podTemplate.topologySpreadConstraints",
    ]
    assert submission(spread) == service(spread) == []


def test_annotations_of_a_service_are_not_ours():
    (problem,) = service({}, serviceAnnotations={"mooring.dev/service": "x", "cloud.example/lb": "internal"})
    assert problem.field == "spec.serviceAnnotations[mooring.dev/service]"


def test_a_field_that_is_none_of_a_template_cannot_be_read():
    with pytest.raises(msgspec.ValidationError, match="containers"):
        msgspec.convert({"containers": []}, PodTemplate)


def test_a_selector_is_added_to_a_placement_and_never_replaces_it():
    template = PodTemplate(node_selector={"a": "1", "b": "1"}, tolerations=({"key": "t"},))
    placed = template.placement(Placement(node_pool="p", node_selector={"b": "2"}, tolerations=[{"key": "s"}]))
    assert placed == Placement("p", {"a": "1", "b": "2"}, [{"key": "s"}, {"key": "t"}])
    plain = Placement(node_pool="p")
    assert PodTemplate().placement(plain) is plain
    assert list(check_pod_template(PodTemplate(), SiblingFields())) == []

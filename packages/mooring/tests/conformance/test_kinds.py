"""Mooring's own kinds, as a cluster serves them."""

from typing import Any

import pytest

from hawser.resources import CRDS
from mooring.kinds.resources import MANAGEDSERVICES, SUBMISSIONS, WARMUPS, WORKERPOOLS
from packages.drydock.tests.conformance.world import Body, HostedCluster, Probe
from packages.mooring.tests.model.test_pod_template import IDENTITY

TEMPLATE: Body = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}


def _spec(**changes: Any) -> Body:
    return {"warm": 1, "max": 4, "template": TEMPLATE, **changes}


REFUSED = {
    "warm above max": (_spec(warm=5), "spec.warm", "spec.warm must be at most spec.max"),
    "a negative floor": (_spec(warm=-1), "spec.warm", "should be greater than or equal to 0"),
    "no template": ({"warm": 1, "max": 2}, "spec.template", "Required value"),
    "a word for a number": (_spec(warm="three"), "spec.warm", "must be of type integer"),
    "a health path without a slash": (
        _spec(health={"port": 80, "path": "healthz"}),
        "spec.health.path",
        "should match",
    ),
    "a health path with a second line": (
        _spec(health={"port": 80, "path": "/a HTTP/1.1\r\nX-Evil: 1"}),
        "spec.health.path",
        "should match",
    ),
    "an unknown reuse": (_spec(reuse="Sometimes"), "spec.reuse", "Unsupported value"),
    "a label of ours in the template": (
        _spec(template={**TEMPLATE, "metadata": {"labels": {"mooring.dev/owner": "me"}}}),
        "spec.template.metadata.labels",
        "may not set mooring.dev/* labels",
    ),
    "an annotation of ours in the template": (
        _spec(template={**TEMPLATE, "metadata": {"annotations": {"mooring.dev/claim": "mine"}}}),
        "spec.template.metadata.annotations",
        "may not set mooring.dev/* annotations",
    ),
    "both a node pool and a selector": (
        _spec(placement={"nodePool": "a", "nodeSelector": {"b": "c"}}),
        "spec.placement",
        "name either nodePool or nodeSelector",
    ),
    "a reserve above the floor": (
        _spec(warm=2, reserve={"acme": 2, "globex": 1}),
        "spec.reserve",
        "spec.reserve must be at most spec.warm or spec.demand.min in all",
    ),
    "a reserve of nothing": (_spec(reserve={"acme": 0}), "spec.reserve.acme", "should be greater than or equal to 1"),
    "an owner's worker that others share": (
        _spec(reuse="SameOwner", slots=2),
        "spec.reuse",
        "requires slots 1 or sharing PerOwner",
    ),
    "two ways to authenticate": (
        _spec(
            mint={"url": "http://mint", "auth": {way: {"secretName": "s", "key": "k"} for way in ("bearer", "hmac")}}
        ),
        "spec.mint.auth",
        "set either bearer or hmac",
    ),
    "a revokeURL that is no URL": (
        _spec(mint={"url": "http://mint", "revokeURL": "mint"}),
        "spec.mint.revokeURL",
        "should match",
    ),
    "no container": (
        _spec(template={"spec": {"containers": []}}),
        "spec.template.spec.containers",
        "should have at least 1 items",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_pool_is_refused_and_the_field_is_named(cluster: HostedCluster, case: str) -> None:
    spec, field, words = REFUSED[case]

    async def probe(p: Probe) -> None:
        error = await p.refusal(p.make(WORKERPOOLS, "linux", spec=spec))
        assert error.status.code == 422
        assert field in [cause.field for cause in error.causes], error.causes
        assert words in error.message

    cluster.run(probe)


def test_a_pools_defaults_are_filled_in(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        spec = (await p.make(WORKERPOOLS, "linux", spec=_spec()))["spec"]
        assert (spec["slots"], spec["reuse"], spec["idleSeconds"], spec["dispatch"]) == (1, "Never", 300, "Push")
        assert spec["protection"] == {"ceilingSeconds": 3600, "graceSeconds": 600, "budget": True}

    cluster.run(probe)


def test_what_the_schema_does_not_know_is_pruned_except_in_a_pod(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        template = {"spec": {**TEMPLATE["spec"], "somethingNew": {"kept": True}}}
        spec = (await p.make(WORKERPOOLS, "linux", spec=_spec(template=template, nonsense=1)))["spec"]
        assert "nonsense" not in spec
        assert spec["template"]["spec"]["somethingNew"] == {"kept": True}

    cluster.run(probe)


def test_the_status_is_apart_and_does_not_raise_the_generation(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.make(WORKERPOOLS, "linux", spec=_spec(), status={"idle": 9})
        assert "status" not in made and made["metadata"]["generation"] == 1
        await p.client.merge_patch(WORKERPOOLS, "linux", {"status": {"idle": 3}}, p.namespace, subresource="status")
        assert (await p.get(WORKERPOOLS, "linux"))["metadata"]["generation"] == 1
        await p.client.merge_patch(WORKERPOOLS, "linux", {"spec": {"warm": 2}}, p.namespace)
        after = await p.get(WORKERPOOLS, "linux")
        assert after["metadata"]["generation"] == 2 and after["status"]["idle"] == 3

    cluster.run(probe)


def test_the_scale_subresource_is_the_floor(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(WORKERPOOLS, "linux", spec=_spec())
        scale = await p.client.merge_patch(
            WORKERPOOLS.raw(), "linux", {"spec": {"replicas": 3}}, p.namespace, subresource="scale"
        )
        assert scale["kind"] == "Scale" and scale["spec"]["replicas"] == 3
        assert (await p.get(WORKERPOOLS, "linux"))["spec"]["warm"] == 3

    cluster.run(probe)


@pytest.mark.parametrize(
    ("resource", "spec"),
    [
        (WARMUPS, {"dataset": "core_nt", "image": "fetch"}),
        (SUBMISSIONS, {"key": "k", "program": "blastn"}),
        (MANAGEDSERVICES, {"image": "web", "port": 80}),
    ],
    ids=["warmup", "submission", "managedservice"],
)
def test_the_other_kinds_are_served_too(cluster: HostedCluster, resource: Any, spec: Body) -> None:
    async def probe(p: Probe) -> None:
        made = await p.make(resource, "x", spec=spec)
        assert made["kind"] == resource.kind
        assert isinstance(await p.refusal(p.make(resource, "y", spec={})), Exception)

    cluster.run(probe)


TEMPLATED: dict[str, tuple[Any, Body]] = {
    "warmup": (WARMUPS, {"dataset": "core_nt", "image": "fetch"}),
    "submission": (SUBMISSIONS, {"key": "k", "program": "blastn"}),
    "managedservice": (MANAGEDSERVICES, {"image": "web", "port": 80}),
}


@pytest.mark.parametrize("kind", TEMPLATED)
def test_a_pod_template_is_kept_whole(cluster: HostedCluster, kind: str) -> None:
    resource, spec = TEMPLATED[kind]

    async def probe(p: Probe) -> None:
        made = await p.make(resource, "x", spec={**spec, "podTemplate": IDENTITY})
        assert made["spec"]["podTemplate"] == IDENTITY

    cluster.run(probe)


CONFLICTS: dict[str, tuple[Body, str, str]] = {
    "a label of ours": ({"labels": {"mooring.dev/pool": "x"}}, ".labels", "leave them out"),
    "a label of Jobs": ({"labels": {"batch.kubernetes.io/job-name": "x"}}, ".labels", "leave them out"),
    "a label of Deployments": ({"labels": {"pod-template-hash": "x"}}, ".labels", "leave them out"),
    "an annotation of ours": ({"annotations": {"mooring.dev/epoch": "x"}}, ".annotations", "leave them out"),
    "a volume of ours": (
        {"volumes": [{"name": "mooring-scripts", "emptyDir": {}}]},
        ".volumes[0].name",
        '"mooring-scripts": names that begin with mooring-',
    ),
    "a mount over ours": (
        {"volumeMounts": [{"name": "a", "mountPath": "/mooring/x"}]},
        ".volumeMounts[0].mountPath",
        '"/mooring/x": /mooring belongs to Mooring',
    ),
    "a selector against the placement": ({"nodeSelector": {"disk": "hdd"}}, ".nodeSelector", "different values"),
    "no grace": ({"terminationGracePeriodSeconds": -1}, ".terminationGracePeriodSeconds", "greater than or equal to 0"),
}


@pytest.mark.parametrize("kind", TEMPLATED)
def test_what_a_pod_template_may_not_set_is_refused_and_the_field_is_named(cluster: HostedCluster, kind: str) -> None:
    resource, spec = TEMPLATED[kind]

    async def probe(p: Probe) -> None:
        for template, field, words in CONFLICTS.values():
            body = {**spec, "placement": {"nodeSelector": {"disk": "ssd"}}, "podTemplate": template}
            error = await p.refusal(p.make(resource, "x", spec=body))
            assert error.status.code == 422
            assert f"spec.podTemplate{field}" in [cause.field for cause in error.causes], error.causes
            assert words in error.message

    cluster.run(probe)


ONLY_SOME: dict[str, tuple[str, Body, str, str]] = {
    "two accounts of a warmup": (
        "warmup",
        {"serviceAccount": "a", "podTemplate": {"serviceAccountName": "b"}},
        "spec.podTemplate.serviceAccountName",
        "name two accounts",
    ),
    "two accounts of a submission": (
        "submission",
        {"serviceAccount": "a", "podTemplate": {"serviceAccountName": "b"}},
        "spec.podTemplate.serviceAccountName",
        "name two accounts",
    ),
    "an affinity of a warmup": (
        "warmup",
        {"podTemplate": {"affinity": {}}},
        "spec.podTemplate.affinity",
        "Mooring chooses the node",
    ),
    "a service's annotation of ours": (
        "managedservice",
        {"serviceAnnotations": {"mooring.dev/service": "x"}},
        "spec.serviceAnnotations",
        "leave them out",
    ),
}


@pytest.mark.parametrize("case", ONLY_SOME)
def test_what_only_some_kinds_have_is_refused_too(cluster: HostedCluster, case: str) -> None:
    kind, changes, field, words = ONLY_SOME[case]
    resource, spec = TEMPLATED[kind]

    async def probe(p: Probe) -> None:
        error = await p.refusal(p.make(resource, "x", spec={**spec, **changes}))
        assert error.status.code == 422 and field in [cause.field for cause in error.causes], error.causes
        assert words in error.message

    cluster.run(probe)


def test_a_definition_is_established_with_its_names(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        crd = await p.get(CRDS, "workerpools.mooring.dev")
        conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
        assert conditions["Established"] == "True" and conditions["NamesAccepted"] == "True"
        assert crd["status"]["acceptedNames"]["shortNames"] == ["wp"]

    cluster.run(probe)


def test_who_applies_a_pool_owns_what_was_said_and_not_the_defaults(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        body = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "metadata": {"name": "linux"}}
        await p.client.apply(WORKERPOOLS, {**body, "spec": _spec()}, p.namespace, field_manager="one")
        owned = (await p.get(WORKERPOOLS, "linux"))["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
        assert set(owned) == {"f:warm", "f:max", "f:template"}
        await p.client.apply(
            WORKERPOOLS, {**body, "spec": {"idleSeconds": 60}}, p.namespace, field_manager="two", dry_run=True
        )

    cluster.run(probe)


def test_a_number_for_a_label_is_a_bad_request(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        metadata = {"name": "linux", "labels": {"a": 1}}
        body = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "metadata": metadata, "spec": _spec()}
        assert await p.send("POST", WORKERPOOLS.path(p.namespace), body) == 400

    cluster.run(probe)


def test_a_generation_is_a_number_or_a_name(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        spec = {"dataset": "core_nt", "image": "fetch"}
        for name, generation in (("number", 2), ("name", "2026-03")):
            made = await p.make(WARMUPS, name, spec={**spec, "generation": generation})
            assert made["spec"]["generation"] == generation
        for wrong in ("", True, 1.5, "x" * 64):
            error = await p.refusal(p.make(WARMUPS, "wrong", spec={**spec, "generation": wrong}))
            assert "spec.generation" in [cause.field for cause in error.causes], error.message

    cluster.run(probe)

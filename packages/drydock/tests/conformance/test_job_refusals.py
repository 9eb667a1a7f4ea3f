"""Jobs that can never run: a dry run refuses them as a create does, in the same words, and leaves nothing behind."""

from typing import Any

import pytest

from hawser.errors import AlreadyExists
from hawser.resources import EVENTS, JOBS
from packages.drydock.tests.conformance.world import Body, HostedCluster, Probe

POD, MAIN = "spec.template.spec", "spec.template.spec.containers[0]"


def _variable(source: Body) -> Body:
    return {"env": [{"name": "A", "valueFrom": source}]}


# Changes of the pod, changes of its container, the field that is named, and words of the refusal.
REFUSED: dict[str, tuple[Body, Body, str, str]] = {
    "a mount of no volume": (
        {},
        {"volumeMounts": [{"name": "nope", "mountPath": "/x"}]},
        f"{MAIN}.volumeMounts[0].name",
        "Not found",
    ),
    "a volume with a bad name": (
        {"volumes": [{"name": "X y", "emptyDir": {}}]},
        {},
        f"{POD}.volumes[0].name",
        "a lowercase RFC 1123 label must consist of",
    ),
    "two volumes of one name": (
        {"volumes": [{"name": "x", "emptyDir": {}}, {"name": "x", "emptyDir": {}}]},
        {},
        f"{POD}.volumes[1].name",
        "Duplicate value",
    ),
    "a variable from nowhere": ({}, _variable({}), f"{MAIN}.env[0].valueFrom", "must specify one of"),
    "a variable from two places": (
        {},
        _variable({"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "a", "key": "b"}}),
        f"{MAIN}.env[0].valueFrom",
        "may not have more than one field specified at a time",
    ),
    "a secret without a key": (
        {},
        _variable({"secretKeyRef": {"name": "a"}}),
        f"{MAIN}.env[0].valueFrom.secretKeyRef.key",
        "Required value",
    ),
    "a request above its limit": (
        {},
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        f"{MAIN}.resources.requests",
        "must be less than or equal to cpu limit",
    ),
    "an unknown operator": (
        {"tolerations": [{"key": "x", "operator": "Bogus"}]},
        {},
        f"{POD}.tolerations[0].operator",
        "Unsupported value",
    ),
}


def _spec(pod: Body, container: Body) -> Body:
    main: dict[str, Any] = {"name": "main", "image": "app", "command": ["run"], **container}
    return {"template": {"spec": {"restartPolicy": "Never", "containers": [main], **pod}}}


def _body(spec: Body) -> Body:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}


@pytest.mark.parametrize("case", REFUSED)
def test_a_job_that_can_never_run_is_refused_in_a_dry_run(cluster: HostedCluster, case: str) -> None:
    pod, container, field, words = REFUSED[case]

    async def probe(p: Probe) -> None:
        error = await p.refusal(p.client.create(JOBS, _body(_spec(pod, container)), p.namespace, dry_run=True))
        assert error.status.code == 422 and error.status.reason == "Invalid"
        assert field in [cause.field for cause in error.causes]
        assert words in error.message
        made = await p.refusal(p.client.create(JOBS, _body(_spec(pod, container)), p.namespace))
        assert made.message == error.message

    cluster.run(probe)


def test_a_field_of_another_type_is_a_bad_request_in_a_dry_run(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        wrong = _spec({"volumes": [{"name": "x", "emptyDir": 5}]}, {})
        error = await p.refusal(p.client.create(JOBS, _body(wrong), p.namespace, dry_run=True))
        assert error.status.code == 400 and "emptyDir" in error.message

    cluster.run(probe)


def test_a_quantity_that_is_none_is_a_bad_request_in_a_dry_run(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        wrong = _spec({}, {"resources": {"requests": {"cpu": "abc"}}})
        error = await p.refusal(p.client.create(JOBS, _body(wrong), p.namespace, dry_run=True))
        assert error.status.code == 400 and "quantities must match" in error.message

    cluster.run(probe)


def test_a_taken_name_is_told_after_everything_else_was_judged(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(JOBS, "j", spec={"suspend": True, **_spec({}, {})})
        with pytest.raises(AlreadyExists):
            await p.client.create(JOBS, _body(_spec({}, {})), p.namespace, dry_run=True)
        wrong = _spec({}, {"volumeMounts": [{"name": "nope", "mountPath": "/x"}]})
        error = await p.refusal(p.client.create(JOBS, _body(wrong), p.namespace, dry_run=True))
        assert error.status.code == 422

    cluster.run(probe)


def test_a_job_whose_pods_are_refused_says_why_in_events(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.make(JOBS, "j", spec=_spec({"serviceAccountName": "nobody"}, {}))
        selector = "involvedObject.kind=Job,reason=FailedCreate,type=Warning"

        async def told() -> bool:
            events = (await p.client.list(EVENTS, p.namespace, field_selector=selector)).items
            return any(
                event.involved_object.uid == made["metadata"]["uid"]
                and event.message.startswith('Error creating: pods "j-')
                and 'serviceaccount "nobody" not found' in event.message
                for event in events
            )

        await p.until(told)

    cluster.run(probe)

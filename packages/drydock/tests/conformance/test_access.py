"""Who may do what, and how a worker proves who it is."""

from hawser.errors import NotAuthorized, NotPermitted
from hawser.resources import CONFIGMAPS, PODS, ROLEBINDINGS, ROLES, SERVICEACCOUNTS
from hawser.reviews import Access, Subject
from packages.drydock.tests.conformance.world import HostedCluster, Probe

AUDIENCE = "mooring-dispatch"


async def token_of(p: Probe, account: str, audiences: list[str] | None = None, pod: str = "") -> str:
    spec: dict[str, object] = {"expirationSeconds": 600}
    if audiences:
        spec["audiences"] = audiences
    if pod:
        uid = (await p.get(PODS, pod))["metadata"]["uid"]
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": account},
        "spec": spec,
    }
    answer = await p.client.create(SERVICEACCOUNTS.raw(), body, p.namespace, subresource="token")
    return str(answer["status"]["token"])


async def _robot(p: Probe, verbs: list[str]) -> str:
    """The token of an account that may do this to ConfigMaps."""
    await p.make(SERVICEACCOUNTS, "robot")
    await p.make(ROLES, "reader", rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}])
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": p.namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    await p.make(ROLEBINDINGS, "reader", subjects=[subject], roleRef=reference)
    return await token_of(p, "robot")


def test_a_token_that_nobody_issued_is_unauthorized(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        async with p.as_bearer("made-up") as stranger:
            error = await p.refusal(stranger.list(CONFIGMAPS, p.namespace))
        assert isinstance(error, NotAuthorized)
        assert error.message == "Unauthorized"

    cluster.run(probe)


def test_an_account_may_do_what_its_role_says_and_nothing_else(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        async with p.as_bearer(await _robot(p, ["list"])) as robot:

            async def allowed() -> bool:
                return (await robot.can_i("list", CONFIGMAPS, namespace=p.namespace)).allowed

            await p.until(allowed)
            await robot.list(CONFIGMAPS, p.namespace)
            error = await p.refusal(robot.delete(CONFIGMAPS, "c", p.namespace))
            assert isinstance(error, NotPermitted)
            assert error.message == (
                f'configmaps "c" is forbidden: User "system:serviceaccount:{p.namespace}:robot" cannot delete resource '
                f'"configmaps" in API group "" in the namespace "{p.namespace}"'
            )
            assert isinstance(await p.refusal(robot.list(PODS, p.namespace)), NotPermitted)

    cluster.run(probe)


def test_one_may_ask_what_one_may_do(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        async with p.as_bearer(await _robot(p, ["get"])) as robot:

            async def allowed() -> bool:
                return (await robot.can_i("get", CONFIGMAPS, namespace=p.namespace)).allowed

            await p.until(allowed)
            assert not (await robot.can_i("delete", CONFIGMAPS, namespace=p.namespace)).allowed
            assert not (await robot.can_i("get", PODS, namespace=p.namespace)).allowed

    cluster.run(probe)


def test_a_token_for_an_audience_is_reviewed_as_such(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        token = await token_of(p, "default", [AUDIENCE])
        review = await p.client.review_token(token, [AUDIENCE])
        assert review.authenticated
        assert review.username == f"system:serviceaccount:{p.namespace}:default"
        assert review.audiences == (AUDIENCE,) or list(review.audiences) == [AUDIENCE]
        assert not (await p.client.review_token(token, ["somebody-else"])).authenticated

    cluster.run(probe)


def test_a_token_bound_to_a_pod_names_it_and_dies_with_it(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.pod()
        await p.until_running()
        token = await token_of(p, "default", [AUDIENCE], pod="p")
        review = await p.client.review_token(token, [AUDIENCE])
        assert review.authenticated
        assert list(review.extra["authentication.kubernetes.io/pod-uid"]) == [made["metadata"]["uid"]]
        assert list(review.extra["authentication.kubernetes.io/pod-name"]) == ["p"]
        await p.client.delete(PODS, "p", p.namespace, grace_seconds=0)

        async def dead() -> bool:
            return not (await p.client.review_token(token, [AUDIENCE])).authenticated

        await p.until(dead)

    cluster.run(probe)


def test_rubbish_is_not_authenticated(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        assert not (await p.client.review_token("rubbish", [AUDIENCE])).authenticated

    cluster.run(probe)


TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def test_every_container_of_a_pod_gets_the_token_of_its_account(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        init = {"name": "first", "image": "app", "command": ["run"]}
        spec = (await p.pod(initContainers=[init], volumes=[{"name": "own", "emptyDir": {}}]))["spec"]
        own, volume = spec["volumes"]
        assert own["name"] == "own" and volume.pop("name").startswith("kube-api-access-")
        field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
        assert volume == {
            "projected": {
                "defaultMode": 420,
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
                ],
            }
        }
        for container in (*spec["initContainers"], *spec["containers"]):
            (mount,) = container["volumeMounts"]
            assert (mount["mountPath"], mount["readOnly"]) == (TOKEN_PATH, True)

    cluster.run(probe)


def test_a_pod_that_wants_no_token_gets_none(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(SERVICEACCOUNTS, "shy", automountServiceAccountToken=False)
        pods = {
            "pod": await p.pod("a", automountServiceAccountToken=False),
            "account": await p.pod("b", serviceAccountName="shy"),
        }
        for pod in pods.values():
            assert "volumes" not in pod["spec"] and "volumeMounts" not in pod["spec"]["containers"][0]
        asked = await p.pod("c", serviceAccountName="shy", automountServiceAccountToken=True)
        assert len(asked["spec"]["volumes"]) == 1, "the pod decides against its account"
        mount = {"name": "mine", "mountPath": TOKEN_PATH}
        own = await p.pod("d", volumes=[{"name": "mine", "emptyDir": {}}], container={"volumeMounts": [mount]})
        assert [volume["name"] for volume in own["spec"]["volumes"]] == ["mine"]

    cluster.run(probe)


def test_one_may_ask_what_others_may_do(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _robot(p, ["get"])
        robot = Subject(f"system:serviceaccount:{p.namespace}:robot")

        async def may(subject: Subject, verb: str, resource: str, namespace: str, name: str = "") -> bool:
            wanted = Access(verb, "", resource, namespace=namespace, name=name)
            return (await p.client.review_access_of(subject, wanted)).allowed

        async def allowed() -> bool:
            return await may(robot, "get", "configmaps", p.namespace)

        await p.until(allowed)
        assert await may(robot, "get", "configmaps", p.namespace, "one")
        assert not await may(robot, "delete", "configmaps", p.namespace)
        assert not await may(robot, "get", "configmaps", "default")
        assert not await may(robot, "get", "configmaps", "")
        assert not await may(robot, "get", "pods", p.namespace)
        assert not await may(Subject("system:serviceaccount:default:robot"), "get", "configmaps", p.namespace)
        assert await may(Subject("anybody", ("system:masters",)), "delete", "nodes", "")

    cluster.run(probe)


def test_a_right_on_a_subresource_of_a_kind_that_is_not_served_can_be_granted_by_name(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        rule = {"apiGroups": ["boats.example"], "resources": ["fleets/berths"], "verbs": ["create", "impersonate"]}
        await p.make(ROLES, "berths", rules=[{**rule, "resourceNames": ["north"]}])
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "berths"}
        subject = {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}
        await p.make(ROLEBINDINGS, "berths", subjects=[subject], roleRef=reference)

        async def may(verb: str, name: str, subresource: str = "berths") -> bool:
            wanted = Access(verb, "boats.example", "fleets", subresource, p.namespace, name)
            return (await p.client.review_access_of(Subject("ann"), wanted)).allowed

        async def allowed() -> bool:
            return await may("create", "north")

        await p.until(allowed)
        assert await may("impersonate", "north")
        assert not await may("create", "south")
        assert not await may("create", "")
        assert not await may("create", "north", "")

    cluster.run(probe)

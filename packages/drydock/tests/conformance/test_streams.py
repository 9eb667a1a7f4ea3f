"""exec and port-forward, up to the moment HTTP is left: who may, and what is refused in which words."""

from typing import Any

import msgspec
import pytest

from hawser.connection import Target, connect
from hawser.credentials import Credential, FixedCredential, bearer
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import PODS, ROLEBINDINGS, ROLES, SERVICEACCOUNTS
from hawser.transport import Request
from packages.drydock.tests.conformance.test_access import token_of
from packages.drydock.tests.conformance.world import HostedCluster, Probe

EXEC = (("command", "ls"), ("stdout", "true"))


async def _ask(p: Probe, method: str, path: str, query: Any = EXEC, token: str = "") -> tuple[int, str]:
    """The answer to a request that offers no upgrade: its code and message."""
    target = load_kubeconfig(p.kubeconfig).target()
    identity = FixedCredential(Credential(bearer(token))) if token else target.source
    connection = await connect(Target(target.server, target.trust, identity), p.clock)
    try:
        answer = await connection.send(Request(method, path, tuple(query), {"accept": "application/json"}))
        return answer.status, str(msgspec.json.decode(await answer.read())["message"])
    finally:
        await connection.close()


async def _robot(p: Probe, resource: str, verbs: list[str]) -> str:
    await p.make(SERVICEACCOUNTS, "robot")
    await p.make(ROLES, "streams", rules=[{"apiGroups": [""], "resources": [resource], "verbs": verbs}])
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": p.namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "streams"}
    await p.make(ROLEBINDINGS, "streams", subjects=[subject], roleRef=reference)
    return await token_of(p, "robot")


@pytest.mark.parametrize("subresource", ["exec", "portforward"])
def test_a_get_needs_get_and_create(cluster: HostedCluster, subresource: str) -> None:
    async def probe(p: Probe) -> None:
        await p.pod("p")
        await p.until_running("p")
        path = PODS.path(p.namespace, "p", subresource)
        token = await _robot(p, f"pods/{subresource}", ["get"])

        async def refused_for(verb: str) -> bool:
            code, message = await _ask(p, "GET", path, token=token)
            assert code == 403
            return f"cannot {verb}" not in message

        await p.until(lambda: refused_for("get"))
        assert await _ask(p, "GET", path, token=token) == (403, 'pods "p" is forbidden: ')
        code, message = await _ask(p, "POST", path, token=token)
        assert (code, f'cannot create resource "pods/{subresource}"' in message) == (403, True)

    cluster.run(probe)


@pytest.mark.parametrize("subresource", ["exec", "portforward"])
def test_a_post_needs_create(cluster: HostedCluster, subresource: str) -> None:
    async def probe(p: Probe) -> None:
        await p.pod("p")
        await p.until_running("p")
        path = PODS.path(p.namespace, "p", subresource)
        token = await _robot(p, f"pods/{subresource}", ["create"])

        async def allowed() -> bool:
            return (await _ask(p, "POST", path, token=token))[0] != 403

        await p.until(allowed)
        assert await _ask(p, "POST", path, token=token) == (400, "Upgrade request required")
        code, message = await _ask(p, "GET", path, token=token)
        assert (code, f'cannot get resource "pods/{subresource}"' in message) == (403, True)

    cluster.run(probe)


def test_what_cannot_be_entered_is_refused_in_the_same_words(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod("p")
        await p.pod("q", containers=[{"name": name, "image": "app"} for name in ("one", "two")])
        await p.pod("nowhere", nodeSelector={"no": "such"})
        await p.until_running("p")
        await p.until_running("q")

        async def ask(name: str, *query: tuple[str, str], subresource: str = "exec") -> tuple[int, str]:
            return await _ask(p, "GET", PODS.path(p.namespace, name, subresource), (*EXEC, *query))

        assert await ask("p") == (400, "Upgrade request required")
        assert await ask("p", ("container", "x")) == (400, "container x is not valid for pod p")
        assert await ask("q") == (400, "a container name must be specified for pod q, choose one of: [one two]")
        assert await ask("q", ("container", "two")) == (400, "Upgrade request required")
        assert await ask("nowhere") == (400, "pod nowhere does not have a host assigned")
        assert await ask("gone") == (404, 'pods "gone" not found')
        assert await ask("p", subresource="portforward") == (400, "Upgrade request required")
        assert await ask("nowhere", subresource="portforward") == (400, "pod nowhere does not have a host assigned")
        assert (await _ask(p, "PUT", PODS.path(p.namespace, "p", "exec")))[0] == 405

    cluster.run(probe)

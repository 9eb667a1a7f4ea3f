"""The doctor with real hands: an account that may not list nodes, and a fleet of 5,000 pods."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from mooring.app import Mooring, Surroundings
from mooring.clock import Entropy, SystemClock
from mooring.control.claiming.activity import PolledActivity
from mooring.control.permissions import CLUSTER_RULES
from mooring.control.probing import HttpProbe
from mooring.incidents.cast import Mint
from mooring.incidents.documents import StagedDocuments
from mooring.kube.client import KubeClient
from mooring.kube.connection import Target, connect
from mooring.kube.crds.installing import install_crds
from mooring.kube.credentials import Credential, FixedCredential, bearer
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.kube.resources import CLUSTERROLEBINDINGS, CLUSTERROLES, SERVICEACCOUNTS
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.checkup import Checkup
from mooring.sandbox.cluster import LocalOptions, Sandbox, local_sandbox

CLOCK = SystemClock()


@contextlib.asynccontextmanager
async def running(client: KubeClient) -> AsyncIterator[Mooring]:
    entropy = Entropy()
    ledger = MemoryLedger(MemoryStore(), clock=CLOCK, entropy=entropy)
    mooring = Mooring(
        Surroundings(
            client,
            ledger,
            CLOCK,
            entropy,
            "a",
            Mint(),
            PolledActivity(CLOCK),
            StagedDocuments(),
            HttpProbe(),
            "http://127.0.0.1",
        )
    )
    task = asyncio.create_task(mooring.run())
    try:
        yield mooring
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.asynccontextmanager
async def restricted(cluster: Sandbox, rules: list[dict[str, object]]) -> AsyncIterator[KubeClient]:
    """As an account that has just these rules."""
    client = cluster.client
    await client.create(SERVICEACCOUNTS, {"metadata": {"name": "mooring"}}, "default")
    await client.create(CLUSTERROLES, {"metadata": {"name": "mooring"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mooring"}
    subject = {"kind": "ServiceAccount", "name": "mooring", "namespace": "default"}
    binding = {"metadata": {"name": "mooring"}, "roleRef": reference, "subjects": [subject]}
    await client.create(CLUSTERROLEBINDINGS, binding)
    wanted = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": "mooring"},
        "spec": {},
    }
    answer = await client.create(SERVICEACCOUNTS.raw(), wanted, "default", subresource="token")
    assert cluster.kubeconfig is not None
    target = load_kubeconfig(cluster.kubeconfig).target()
    identity = FixedCredential(Credential(bearer(answer["status"]["token"])))
    connection = await connect(Target(target.server, target.trust, identity), CLOCK)
    try:
        yield KubeClient(connection)
    finally:
        await connection.close()


def without_listing_nodes() -> list[dict[str, object]]:
    rules = [dict(rule) for rule in CLUSTER_RULES]
    for rule in rules:
        if rule["resources"] == ["nodes"]:
            rule["verbs"] = ["get"]
    return rules


async def examine(rules: list[dict[str, object]]) -> Checkup:
    with tempfile.TemporaryDirectory() as folder:
        async with local_sandbox(Path(folder), CLOCK, Entropy(), LocalOptions(runtime="simulated")) as cluster:
            await install_crds(cluster.client, CLOCK)
            async with restricted(cluster, rules) as client, running(client) as mooring:
                for _ in range(100):
                    await asyncio.sleep(0.05)
                    if mooring.leadership.leading and mooring.fleet.reflectors["pools"].synced:
                        break
                await asyncio.sleep(0.5)
                return await mooring.doctor.examine()


def test_an_account_that_may_not_list_nodes_is_told_the_verb_and_everything_else_is_examined():
    checkup = asyncio.run(examine(without_listing_nodes()))
    by_id = {check.id: check for check in checkup.checks}
    assert by_id["permission/nodes"].status == "fail"
    assert by_id["permission/nodes"].message == "nodes: list, watch is missing"
    assert by_id["cache/nodes"].status == "fail" and "cannot list" in by_id["cache/nodes"].message
    failing = {check.id for check in checkup.checks if check.status == "fail"}
    assert failing == {"permission/nodes", "cache/nodes"}
    assert {"api", "clock/API server", "ledger", "permission/pods", "services"} <= {
        check.id for check in checkup.checks if check.status == "ok"
    }


def test_the_permissions_that_install_prints_are_all_that_is_needed():
    checkup = asyncio.run(examine([dict(rule) for rule in CLUSTER_RULES]))
    assert [check.message for check in checkup.checks if check.status in ("warn", "fail")] == []

"""The doctor with real hands: an account that may not list nodes, and a fleet of 5,000 pods."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drydock import Cluster, LocalOptions, local_cluster
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import Target, connect
from hawser.credentials import Credential, FixedCredential, bearer
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import CLUSTERROLEBINDINGS, CLUSTERROLES, SECRETS, SERVICEACCOUNTS
from mooring.app import Adapters, Dependencies, Mooring, ReplicaOptions
from mooring.controllers.activity import PolledActivity
from mooring.controllers.pools.probe import HttpProbe
from mooring.incidents.documents import StagedDocuments
from mooring.incidents.fakes import Gateway, Mint
from mooring.kinds.installation import install_crds
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.doctor_report import Check, DoctorReport
from mooring.model.permissions import CLUSTER_RULES
from mooring.planning.destinations import THIS_MACHINE
from packages.mooring.tests.requirements import require_kubectl

pytestmark = pytest.mark.realtime

CLOCK = SystemClock()


@contextlib.asynccontextmanager
async def running(client: KubeClient) -> AsyncIterator[Mooring]:
    entropy = Entropy()
    ledger = MemoryLedger(MemoryStore(), clock=CLOCK, entropy=entropy)
    mooring = Mooring(
        Dependencies(
            client,
            ledger,
            CLOCK,
            entropy,
            ReplicaOptions("a", "http://127.0.0.1"),
            Adapters(Mint(), PolledActivity(CLOCK), StagedDocuments(), HttpProbe(THIS_MACHINE), Gateway()),
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
async def restricted(cluster: Cluster, rules: list[dict[str, object]]) -> AsyncIterator[KubeClient]:
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


async def examine(rules: list[dict[str, object]]) -> DoctorReport:
    with tempfile.TemporaryDirectory() as folder:
        async with local_cluster(Path(folder), CLOCK, Entropy(), LocalOptions(runtime="simulated")) as cluster:
            await install_crds(cluster.client, CLOCK)
            async with restricted(cluster, rules) as client, running(client) as mooring:
                for _ in range(100):
                    await asyncio.sleep(0.05)
                    if mooring.leadership.leading and mooring.fleet.reflectors["pools"].synced:
                        break
                await asyncio.sleep(0.5)
                return await mooring.queries.doctor.examine()


async def test_an_account_that_may_not_list_nodes_is_told_the_verb_and_everything_else_is_examined():
    checkup = await examine(without_listing_nodes())
    by_id = {check.id: check for check in checkup.checks}
    assert by_id["permission/nodes"].status == "fail"
    assert by_id["permission/nodes"].message == "nodes: list, watch is missing"
    assert by_id["cache/nodes"].status == "fail" and "cannot list" in by_id["cache/nodes"].message
    failing = {check.id for check in checkup.checks if check.status == "fail"}
    assert failing == {"permission/nodes", "cache/nodes", "leader"}, "who sees no nodes does not lead"
    assert {"api", "clock/API server", "ledger", "permission/pods", "services"} <= {
        check.id for check in checkup.checks if check.status == "ok"
    }


async def test_the_permissions_that_install_prints_are_all_that_is_needed():
    checkup = await examine([dict(rule) for rule in CLUSTER_RULES])
    assert [check.message for check in checkup.checks if check.status in ("warn", "fail")] == []


SECRET = {"metadata": {"name": "mint-key"}, "data": {"token": "dA=="}}


async def examine_mint(mooring: Mooring) -> Check:
    report = await mooring.queries.doctor.examine()
    [line] = [check for check in report.checks if check.id == "mint/default/linux"]
    return line


async def examine_mints() -> list[Check]:
    """The line of a pool whose mint needs a Secret: without the permission, after its fix, and with a wrong key."""
    token = {"bearer": {"secretName": "mint-key", "key": "token"}}
    template = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
    spec = {"warm": 0, "max": 1, "template": template, "mint": {"url": "http://127.0.0.1:1/", "auth": token}}
    body = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "metadata": {"name": "linux"}, "spec": spec}
    rules: list[dict[str, object]] = [dict(rule) for rule in CLUSTER_RULES]
    with tempfile.TemporaryDirectory() as folder:
        async with local_cluster(Path(folder), CLOCK, Entropy(), LocalOptions(runtime="simulated")) as cluster:
            await install_crds(cluster.client, CLOCK)
            await cluster.client.create(SECRETS, SECRET, "default")
            await cluster.client.create(WORKERPOOLS, body, "default")
            async with restricted(cluster, rules) as client, running(client) as mooring:
                async with asyncio.timeout(10):
                    while "default/linux" not in mooring.fleet.pools:
                        await asyncio.sleep(0.05)
                found = [await examine_mint(mooring)]
                fixed = await asyncio.create_subprocess_shell(
                    found[0].fix, env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
                )
                assert await fixed.wait() == 0
                found.append(await examine_mint(mooring))
                wrong = {"spec": {"mint": {"auth": {"bearer": {"key": "other"}}}}}
                await cluster.client.merge_patch(WORKERPOOLS, "linux", wrong, "default")
                await asyncio.sleep(0.5)
                found.append(await examine_mint(mooring))
    return found


async def test_the_doctor_says_what_a_mint_lacks_and_its_fix_grants_one_secret():
    require_kubectl()
    forbidden, granted, wrong = await examine_mints()
    assert (forbidden.status, forbidden.message) == ("fail", "Mooring may not read Secret default/mint-key of its mint")
    assert "--verb=get --resource=secrets --resource-name=mint-key" in forbidden.fix
    assert "--serviceaccount=default:mooring" in forbidden.fix
    assert granted.status == "ok"
    assert (wrong.status, wrong.message) == ("fail", "Secret default/mint-key of its mint has no key 'other'")

"""Pods next to their data: drawn to the nodes where a Warmup is warm, or bound to them."""

from dataclasses import replace

import pytest

from mooring.controllers.pools.manifests import worker_manifest
from mooring.model.placement import Placement
from mooring.model.warmup import ShardStatus, WarmupStatus
from mooring.planning.placement import Placed, place_near
from mooring.planning.warmups.warm_nodes import warm_nodes
from packages.mooring.tests.planning.fleets import pool
from packages.mooring.tests.planning.warmups.datasets import nodes

FLEET = nodes(3)
REQUIRED = Placement(warmup="nt", warmup_required=True)


def shard(name: str, uid: str = "", warm: str = "1") -> ShardStatus:
    return ShardStatus(node=name, node_uid=uid or f"{name}-uid", warm=warm)


def test_a_node_is_warm_by_its_uid_while_it_takes_pods():
    status = WarmupStatus(
        shards=(shard("node-0"), shard("node-1", uid="before"), shard("node-2", warm=""), shard("gone-0"))
    )
    assert warm_nodes(status, FLEET) == ("node-0",)
    cordoned = {**FLEET, "node-0": replace(FLEET["node-0"], unschedulable=True)}
    assert warm_nodes(status, cordoned) == ()


def test_a_pool_prefers_warm_nodes_and_starts_elsewhere_when_none_is():
    wish = Placement(warmup="nt")
    assert place_near(Placed(), wish, ("node-0",)).prefer == ("node-0",)
    assert place_near(Placed(), wish, None) == Placed()
    made = worker_manifest(pool(), "linux-0", Placed(prefer=("node-0", "node-1")), "ledger")
    weighed = made["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [one["preference"]["matchFields"][0]["values"] for one in weighed] == [["node-0"], ["node-1"]]


@pytest.mark.parametrize(("warm", "told"), [((), "is warm on no node"), (None, "does not exist")])
def test_a_required_warmup_that_is_cold_is_a_problem_with_a_fix(warm, told):
    placed = place_near(Placed(), REQUIRED, warm)
    assert told in placed.problem and "mooring warmups nt" in placed.fix


def test_a_required_warmup_narrows_every_alternative_of_the_template():
    placed = place_near(Placed(), REQUIRED, ("node-0", "node-1"))
    zone = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    template = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [zone]}}
    terms = placed.on({"affinity": {"nodeAffinity": template}})["affinity"]["nodeAffinity"]
    found = terms["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchFields"][0]["values"] for term in found] == [["node-0"], ["node-1"]]
    assert all(term["matchExpressions"] == zone["matchExpressions"] for term in found)
    assert placed.fingerprint != Placed().fingerprint

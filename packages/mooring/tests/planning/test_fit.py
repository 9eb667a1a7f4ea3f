"""Whether a pod would find a node: the verdict in the scheduler's words, and the smallest change that helps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawser.fitting.volumes import BoundVolume, Unbound
from mooring.model.node import NodeTemplate, Taint
from mooring.planning.fit import Usage, plan_preflight, preflight
from mooring.planning.fit.usage import read_residents
from mooring.planning.placement import Placed
from packages.mooring.tests.planning.fleets import node

ROOM = {"cpu": 8000, "memory": 32 * 1024**3, "ephemeral-storage": 100 * 1024**3, "pods": 110}
SYSTEM = [node(f"sys-{n}", taints=(Taint("CriticalAddonsOnly", "true"),), allocatable=ROOM) for n in range(2)]
BLAST = [
    node(f"work-{n}", labels={"workload": "blast"}, taints=(Taint("workload", "blast"),), allocatable=ROOM)
    for n in range(10)
]


def spec(cpu="100m", **changes):
    return {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}], **changes}


def plain(name="plain", **changes):
    return node(name, **{"allocatable": ROOM, **changes})


def resident(on, cpu="1", name="r", **changes):
    pod = {"metadata": {"name": name, "uid": name, "namespace": "default", "labels": changes.pop("labels", {})}}
    return {**pod, "spec": spec(cpu, nodeName=on, **changes), "status": {"phase": "Running"}}


def used(*pods, **more):
    return Usage(read_residents(pods), **more)


def required(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def test_the_split_pools_of_the_outage_are_told_before_anything_is_applied():
    told = preflight(spec(), [*SYSTEM, *BLAST])
    assert (told.fits, told.total) == (0, 12)
    assert told.sentence == (
        "0/12 nodes are available: 10 node(s) had untolerated taint(s) {workload: blast}, "
        "2 node(s) had untolerated taint(s) {CriticalAddonsOnly: true}."
    )
    assert told.fix == "add toleration workload=blast:NoSchedule"
    assert [(group.kind, group.nodes) for group in told.groups] == [("taint", 10), ("taint", 2)]


def test_following_the_fix_makes_it_fit():
    tolerated = [{"key": "workload", "operator": "Equal", "value": "blast", "effect": "NoSchedule"}]
    told = preflight(spec(tolerations=tolerated), [*SYSTEM, *BLAST])
    assert (told.fits, told.fix) == (10, "")


def test_too_large_a_request_names_the_roomiest_node():
    nodes = [plain("small", allocatable={**ROOM, "cpu": 2000}), plain("x", allocatable={**ROOM, "cpu": 4000})]
    told = preflight(spec("4"), nodes, used(resident("x", "800m")))
    assert told.fix == "needs 4 CPU, largest free 3.2 CPU on node x: request less, or add a larger node"
    assert "2 Insufficient cpu" in told.sentence


NODE = plain("n", labels={"zone": "a", "size": "5"})
PIN = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}


@pytest.mark.parametrize(
    ("pod", "on", "kind"),
    [
        (spec(), NODE, ""),
        (spec(), plain(unschedulable=True), "cordon"),
        (spec(), plain(taints=(Taint("node.kubernetes.io/not-ready", "", "NoExecute"),)), "taint"),
        (spec(), plain(taints=(Taint("soft", "", "PreferNoSchedule"),)), ""),
        (spec(tolerations=[{"operator": "Exists"}]), plain(unschedulable=True, taints=(Taint("any"),)), ""),
        (spec(nodeName="elsewhere"), NODE, "node_name"),
        (spec(nodeSelector={"zone": "a"}), NODE, ""),
        (spec(nodeSelector={"zone": "b"}), NODE, "selector"),
        (spec(affinity=required(PIN)), NODE, ""),
        (spec(affinity=required(PIN)), plain("other"), "selector"),
        (spec(affinity=required({})), NODE, "selector"),
        (
            spec(affinity=required({"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["4"]}]})),
            NODE,
            "",
        ),
        (spec("9"), NODE, "resource"),
        (spec(), plain(allocatable={**ROOM, "pods": 0}), "resource"),
        ({"containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]}, NODE, "resource"),
        ({"containers": [{"resources": {"requests": {"ephemeral-storage": "101Gi"}}}]}, NODE, "resource"),
        ({"containers": [], "overhead": {"cpu": "9"}}, NODE, "resource"),
    ],
)
def test_each_rule_of_the_scheduler_keeps_a_pod_off_or_lets_it_in(pod, on, kind):
    assert [group.kind for group in preflight(pod, [on]).groups] == ([kind] if kind else [])


def test_a_host_port_that_is_taken_and_a_volume_in_another_zone():
    ports = [{"name": "main", "ports": [{"hostPort": 80, "containerPort": 80}]}]
    taken = preflight({"containers": ports}, [NODE], used(resident("n", containers=ports)))
    assert taken.groups[0].kind == "ports" and "80" in taken.fix
    zone = BoundVolume(None, (("topology.kubernetes.io/zone", frozenset({"b"})),))
    labelled = plain("n", labels={"topology.kubernetes.io/zone": "a"})
    claim = [{"persistentVolumeClaim": {"claimName": "data"}}]
    held = preflight(spec(volumes=claim), [labelled], used(volumes={"data": zone}))
    assert held.groups[0].reason == "node(s) had no available volume zone"


def claiming(*names, **changes):
    return spec(volumes=[{"persistentVolumeClaim": {"claimName": name}} for name in names], **changes)


@pytest.mark.parametrize(
    ("state", "sentence", "message", "fix"),
    [
        (
            Unbound.MISSING,
            '0/1 nodes are available: persistentvolumeclaim "data" not found.',
            "claim data does not exist",
            "kubectl -n ns create -f -",
        ),
        (
            Unbound.IMMEDIATE,
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            "claim data is not bound",
            "kubectl -n ns describe pvc data",
        ),
        (
            Unbound.LEAVING,
            '0/1 nodes are available: persistentvolumeclaim "data" is being deleted.',
            "claim data is being deleted",
            "kubectl -n ns describe pvc data",
        ),
    ],
)
def test_a_claim_without_a_volume_keeps_a_pod_off_every_node(state, sentence, message, fix):
    maker = NodeTemplate("any", {}, ())
    told = preflight(claiming("data"), [NODE], used(volumes={"data": state}), [maker], namespace="ns")
    assert (told.fits, told.sentence, told.unknown, told.makers) == (0, sentence, (), ())
    assert [claim.message for claim in told.claims] == [message] and told.fix.endswith(fix)


def test_a_claim_that_waits_for_its_first_pod_is_not_judged():
    for state in (Unbound.LATER, Unbound.UNCLEAR):
        told = preflight(claiming("data"), [NODE], used(volumes={"data": state}))
        assert told.fits == 1 and not told.claims and "claim data" in told.unknown[0]


def test_neighbours_decide_too():
    labels = {"app": "web"}
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": labels}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    usage = used(resident("n", labels=labels))
    kept_off = preflight(spec(affinity=apart), [NODE], usage, namespace="default", labels=labels)
    assert kept_off.groups[0].kind == "affinity"
    refused = preflight(spec(), [NODE], used(resident("n", affinity=apart)), namespace="default", labels=labels)
    assert "existing pods anti-affinity" in refused.sentence
    spread = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    nodes = [NODE, plain("m", labels={"zone": "b"})]
    fewer = preflight(spec(topologySpreadConstraints=[spread]), nodes, usage, namespace="default", labels=labels)
    assert [verdict.node for verdict in fewer.verdicts if verdict.fits] == ["m"]


def test_residents_that_keep_other_namespaces_away_are_asked_for_the_labels_of_namespaces():
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaceSelector": {"matchLabels": {"team": "red"}},
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    guard = resident("n", affinity=apart)

    def told(namespaces):
        return preflight(spec(), [NODE], used(guard, namespaces=namespaces), namespace="r", labels={"app": "x"})

    assert told({"r": {"team": "red"}}).fits == 0 and told({"r": {"team": "blue"}}).fits == 1
    assert told({"r": {}}).unknown == ()
    assert told(None).unknown == ("which namespaces the anti-affinity of other pods selects",)


def leaving(pod):
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}


@pytest.mark.parametrize(
    ("selector", "on", "fitting"),
    [
        ({"matchLabels": {"app": "web"}}, lambda pod: pod, ["m"]),
        ({"matchLabels": {"app": "web"}}, leaving, ["m", "n"]),
        ({}, lambda pod: pod, ["m", "n"]),
        (None, lambda pod: pod, ["m", "n"]),
    ],
)
def test_spreading_counts_neither_pods_that_leave_nor_any_for_an_empty_selector(selector, on, fitting):
    spread = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    if selector is not None:
        spread["labelSelector"] = selector
    nodes = [NODE, plain("m", labels={"zone": "b"})]
    usage = used(on(resident("n", labels={"app": "web"})))
    told = preflight(spec(topologySpreadConstraints=[spread]), nodes, usage, namespace="default", labels={"app": "web"})
    assert sorted(verdict.node for verdict in told.verdicts if verdict.fits) == fitting


def test_a_pod_is_not_in_its_own_way():
    pod = resident("n", "8", name="itself")
    assert plan_preflight({**pod, "spec": spec("8")}, [NODE], used(pod)).fits == 1


def test_what_is_not_judged_is_said():
    pod = spec(
        resourceClaims=[{"name": "gpu"}], schedulerName="own", volumes=[{"persistentVolumeClaim": {"claimName": "d"}}]
    )
    told = " ".join(preflight(pod, [NODE]).unknown)
    assert all(word in told for word in ("other pods", "claim d", "resourceClaims", "scheduler own"))
    assert preflight(spec(), [NODE], used()).unknown == ()


def test_a_node_pool_that_would_make_a_node_is_hope():
    template = NodeTemplate("gpu", {"karpenter.sh/nodepool": frozenset({"gpu"})}, (Taint("gpu"),))
    placed = Placed({"karpenter.sh/nodepool": "gpu"}, ({"key": "gpu", "operator": "Exists"},))
    told = preflight(placed.on(spec()), BLAST, templates=[template])
    assert (told.fits, told.makers, told.hopeless) == (0, ("gpu",), False) and "nodeclaims" in told.fix
    assert preflight(spec(), BLAST, templates=[template]).hopeless, "the pod does not tolerate what it would get"


def test_the_smallest_change_passes_over_nodes_that_are_on_their_way_out():
    leaving = plain("old", taints=(Taint("karpenter.sh/disrupted"),))
    told = preflight(spec(nodeSelector={"disk": "ssd"}), [leaving, plain("n")])
    assert told.fix == "remove disk=ssd from the nodeSelector, or label a node with it"


def test_without_nodes_it_says_so():
    assert preflight(spec(), []).sentence == "no nodes available to schedule pods"


@given(
    cpu=st.integers(1, 12),
    taken=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    tainted=st.sets(st.integers(0, 5)),
)
def test_groups_and_fits_account_for_every_node_and_a_fix_comes_exactly_when_nothing_fits(cpu, taken, tainted):
    nodes = [plain(f"n{i}", taints=(Taint("t"),) if i in tainted else ()) for i in range(len(taken))]
    usage = used(*(resident(f"n{i}", str(amount), name=f"r{i}") for i, amount in enumerate(taken)))
    told = preflight(spec(str(cpu)), nodes, usage)
    assert told.fits + sum(group.nodes for group in told.groups) == told.total == len(nodes)
    assert bool(told.fix) is (told.fits == 0)
    expected = [i not in tainted and cpu <= 8 - amount for i, amount in enumerate(taken)]
    assert [verdict.fits for verdict in told.verdicts] == expected

"""The pod of a worker: which nodes it may not go to, whatever its template says."""

from mooring.controllers.pools.manifests import account_manifest, spec_hash, worker_manifest
from mooring.model import names
from mooring.planning.placement import Placed
from packages.mooring.tests.planning.fleets import pool

EXCLUDED = [{"key": "metadata.name", "operator": "NotIn", "values": [name]} for name in ("node-1", "node-2")]
IN_ZONE = {"key": "zone", "operator": "In", "values": ["a"]}


def terms_of(template_affinity, avoid=("node-1", "node-2")):
    template = {"spec": {"affinity": template_affinity, "containers": [{"name": "main", "image": "worker"}]}}
    made = worker_manifest(pool(template=template), "linux-0", Placed(avoid=avoid), "ledger")
    affinity = made["spec"]["affinity"]
    return affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"], affinity


def requiring(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def test_closed_nodes_are_excluded_one_by_one_and_written_down():
    terms, _ = terms_of({})
    assert terms == [{"matchFields": EXCLUDED}]
    made = worker_manifest(pool(), "linux-0", Placed(avoid=("node-1", "node-2")), "ledger")
    assert made["metadata"]["annotations"][names.AVOIDS] == "node-1 node-2"


def test_every_alternative_of_the_template_is_narrowed_and_the_rest_of_it_is_kept():
    pinned = {"key": "metadata.name", "operator": "In", "values": ["node-3"]}
    preferred = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    terms, affinity = terms_of(
        {**requiring({"matchExpressions": [IN_ZONE]}, {"matchFields": [pinned]}, {}), **preferred}
    )
    assert terms == [
        {"matchExpressions": [IN_ZONE], "matchFields": EXCLUDED},
        {"matchFields": [pinned, *EXCLUDED]},
        {},
    ]
    assert affinity["podAntiAffinity"] == preferred["podAntiAffinity"]


def test_without_closed_nodes_a_pod_is_as_its_template_says_and_the_hash_never_depends_on_them():
    made = worker_manifest(pool(), "linux-0", Placed(), "ledger")
    assert "affinity" not in made["spec"] and names.AVOIDS not in made["metadata"]["annotations"]
    avoiding = worker_manifest(pool(), "linux-0", Placed(avoid=("node-1",)), "ledger")
    hashes = {pod["metadata"]["annotations"][names.SPEC_HASH] for pod in (made, avoiding)}
    assert hashes == {spec_hash(pool())}


def test_every_worker_has_the_grace_of_its_pool_whatever_its_template_says():
    template = {"spec": {"terminationGracePeriodSeconds": 5, "containers": [{"name": "main", "image": "worker"}]}}
    made = worker_manifest(pool(template=template), "linux-0", Placed(), "ledger")
    assert made["spec"]["terminationGracePeriodSeconds"] == 600
    longer = worker_manifest(pool(protection={"graceSeconds": 1200}), "linux-0", Placed(), "ledger")
    assert longer["spec"]["terminationGracePeriodSeconds"] == 1200


def test_the_account_of_a_worker_mounts_no_token_unless_the_template_asks():
    asks = {"spec": {"automountServiceAccountToken": True, "containers": [{"name": "main", "image": "worker"}]}}
    assert account_manifest(pool(), "linux-0")["automountServiceAccountToken"] is False
    assert (
        worker_manifest(pool(template=asks), "linux-0", Placed(), "l")["spec"]["automountServiceAccountToken"] is True
    )
    assert "automountServiceAccountToken" not in worker_manifest(pool(), "linux-0", Placed(), "l")["spec"]

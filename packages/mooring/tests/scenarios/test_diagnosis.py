"""Explanations and the doctor, over a whole cluster in virtual time."""

import pytest

from drydock import NodeTemplate, Script
from drydock.faults import Answer, Hang, Refuse, Rule
from hawser.resources import (
    CRDS,
    NAMESPACES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    RESOURCEQUOTAS,
    STORAGECLASSES,
)
from mooring.incidents.stage import NAMESPACE, open_stage
from mooring.model.errors import NotFound
from packages.mooring.tests.scenarios.harbour import harbour

BLAST = {"key": "workload", "value": "blast", "effect": "NoSchedule"}
SYSTEM = {"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}
SPLIT = {
    **{f"sys-{n}": NodeTemplate(taints=(SYSTEM,)) for n in range(2)},
    **{f"work-{n}": NodeTemplate(labels={"workload": "blast"}, taints=(BLAST,)) for n in range(10)},
}


CONTAINER = {"name": "main", "image": "api"}


async def pod(world, name="api", **spec):
    body = {"metadata": {"name": name}, "spec": {"containers": [CONTAINER], **spec}}
    await world.client.create(PODS, body, NAMESPACE)
    await world.clock.sleep(10)


def lines(checkup, *statuses):
    return {check.id: check for check in checkup.checks if check.status in statuses}


async def test_the_pod_of_the_outage_is_told_how_many_nodes_fit_and_what_to_add():
    async with open_stage(1, SPLIT) as world:
        replica = world.start()
        await pod(world)
        told = await replica.mooring.queries.explainer.explain(NAMESPACE, "api")
        assert told.state == "unschedulable" and (told.preflight.fits, told.preflight.total) == (0, 12)
        assert told.fix == "add toleration workload=blast:NoSchedule"
        assert told.unread == () and told.preflight.unknown == ()
        assert any(event.reason == "FailedScheduling" for event in told.events)

        await pod(world, "fixed", tolerations=[{**BLAST, "operator": "Equal"}])
        told = await replica.mooring.queries.explainer.explain(NAMESPACE, "fixed")
        assert (told.state, told.findings) == ("running", ()) and told.node.startswith("work-")


@pytest.mark.world(nodes=1)
async def test_what_other_pods_use_counts_and_a_used_up_quota_is_named(world):
    replica = world.start()
    requests = {"resources": {"requests": {"cpu": "6"}}}
    for name in ("first", "second"):
        await pod(world, name, containers=[{"name": "main", "image": "api", **requests}])
    told = await replica.mooring.queries.explainer.explain(NAMESPACE, "second")
    assert told.fix == "needs 6 CPU, largest free 2 CPU on node node-1: request less, or add a larger node"
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "2"}}, "status": {}}
    await world.client.create(RESOURCEQUOTAS, quota, NAMESPACE)
    status = {"status": {"hard": {"pods": "2"}, "used": {"pods": "2"}}}
    await world.client.merge_patch(RESOURCEQUOTAS, "small", status, NAMESPACE, subresource="status")
    told = await replica.mooring.queries.explainer.explain(NAMESPACE, "second")
    assert told.findings[-1].code == "quota_used_up"


async def test_claims_without_a_volume_are_named_each_with_its_command():
    async def claim(world, name, **spec):
        asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
        await world.client.create(PERSISTENTVOLUMECLAIMS, {"metadata": {"name": name}, "spec": asked}, NAMESPACE)

    async def told(replica, world, *claims):
        name = f"uses-{'-'.join(claims)}"
        volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
        await pod(world, name, volumes=volumes)
        return await replica.mooring.queries.explainer.explain(NAMESPACE, name)

    async with open_stage(1, {f"n{n}": NodeTemplate() for n in range(4)}) as world:
        replica = world.start()
        await world.client.create(
            STORAGECLASSES,
            {"metadata": {"name": "late"}, "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer"},
        )
        await claim(world, "unbound", storageClassName="")
        await claim(world, "later", storageClassName="late")

        missing = await told(replica, world, "nope")
        assert (missing.state, missing.summary) == ("unschedulable", "claim nope does not exist")
        assert missing.preflight.fits == 0 and missing.fix.endswith(f"kubectl -n {NAMESPACE} create -f -")

        unbound = await told(replica, world, "unbound")
        assert unbound.summary == "claim unbound is not bound"
        assert unbound.fix == f"kubectl -n {NAMESPACE} describe pvc unbound"

        both = await told(replica, world, "nope", "unbound")
        assert [one.code for one in both.findings][:2] == ["claim_missing", "claim_unbound"] and both.unread == ()

        later = await told(replica, world, "later")
        assert "would take it" not in later.summary and "claim later" in later.preflight.unknown[0]


async def test_a_bound_volume_ties_its_pod_to_the_nodes_that_reach_it():
    size = {"storage": "1Gi"}
    reach = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["here"]}]}]
    volume = {
        "metadata": {"name": "v"},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": reach}},
        },
    }
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": size}, "volumeName": "v"}
    async with open_stage(1, {"far": NodeTemplate(), "near": NodeTemplate(labels={"disk": "here"})}) as world:
        replica = world.start()
        await world.client.create(PERSISTENTVOLUMES.raw(), volume)
        await world.client.create(PERSISTENTVOLUMECLAIMS, {"metadata": {"name": "c"}, "spec": asked}, NAMESPACE)
        bound = {"status": {"phase": "Bound", "capacity": size, "accessModes": ["ReadWriteOnce"]}}
        await world.client.merge_patch(PERSISTENTVOLUMECLAIMS, "c", bound, NAMESPACE, subresource="status")
        source = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
        await pod(world, volumes=[source], nodeSelector={"kubernetes.io/hostname": "far"})
        told = await replica.mooring.queries.explainer.explain(NAMESPACE, "api")
        assert (told.preflight.fits, told.unread) == (0, ())
        assert "1 node(s) didn't match PersistentVolume's node affinity" in told.summary


async def test_residents_that_keep_a_namespace_away_by_its_labels_are_seen():
    async with open_stage(1, {"n": NodeTemplate()}) as world:
        replica = world.start()
        await world.client.create(NAMESPACES, {"metadata": {"name": "red", "labels": {"team": "red"}}})
        await world.clock.sleep(5)
        term = {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "x"}},
            "namespaceSelector": {"matchLabels": {"team": "red"}},
        }
        apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        await pod(world, "guard", affinity=apart)
        body = {"metadata": {"name": "victim", "labels": {"app": "x"}}, "spec": {"containers": [CONTAINER]}}
        await world.client.create(PODS, body, "red")
        await world.clock.sleep(10)
        told = await replica.mooring.queries.explainer.explain("red", "victim")
        assert told.preflight.fits == 0 and "existing pods anti-affinity" in told.summary


async def test_a_container_that_keeps_ending_is_explained_by_its_own_last_words():
    def crash(_):
        return Script(run_seconds=0.5, exit_code=3, logs=("password=hunter2", "no database"))

    async with harbour(nodes=1, scripts=crash) as world:
        replica = world.start()
        await pod(world, restartPolicy="Always")
        await world.clock.sleep(30)
        told = await replica.mooring.queries.explainer.explain(NAMESPACE, "api")
        assert told.findings[0].code == "crash_looping" and "exit code 3" in told.summary
        assert "no database" in told.failure.logs and not any("hunter2" in line for line in told.failure.logs)


@pytest.mark.world(nodes=1)
async def test_a_pod_that_is_not_there_is_said_to_be_not_there(world):
    replica = world.start()
    with pytest.raises(NotFound):
        await replica.mooring.queries.explainer.explain(NAMESPACE, "nobody")


@pytest.mark.world(nodes=3)
async def test_a_healthy_fleet_has_no_line_that_warns_or_fails(world):
    replica = world.start()
    await world.pool(warm=4, max=8)
    await world.until_idle(4)
    await world.clock.sleep(180)
    checkup = await replica.mooring.queries.doctor.examine()
    assert lines(checkup, "warn", "fail") == {}
    fine = lines(checkup, "ok")
    assert {"clock/API server", "clock/ledger"} <= set(fine)
    assert {"api", "ledger", "leader", "permission/pods", "cache/nodes", "crd/workerpools.mooring.dev"} <= set(fine)
    assert {"list", "watch", "delete"} <= set(fine["permission/pods"].evidence["allowed"])


@pytest.mark.world(nodes=2)
async def test_what_is_wrong_is_one_line_each_with_a_fix(world):
    replica = world.start()
    big = {"spec": {"containers": [{"name": "m", "image": "w", "resources": {"requests": {"cpu": "64"}}}]}}
    await world.pool("big", warm=1, max=1, template=big)
    for_ever = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}
    await world.pool(
        "clingy", warm=0, max=1, template={**for_ever, "spec": {"containers": [{"name": "m", "image": "w"}]}}
    )
    await replica.mooring.switches.pause("claim-alive", actor="me", reason="test")
    await world.client.delete(CRDS, "warmups.mooring.dev")
    await world.clock.sleep(30)
    checkup = await replica.mooring.queries.doctor.examine()
    failing = lines(checkup, "fail", "warn")
    assert "needs 64 CPU" in failing[f"pool/{NAMESPACE}/big"].fix
    assert "remove the annotation" in failing[f"protection/{NAMESPACE}/clingy"].fix
    assert failing["invariant/claim-alive"].fix == "mooring resume claim-alive"
    assert "not installed" in failing["crd/warmups.mooring.dev"].message
    assert all(check.fix for check in failing.values())


@pytest.mark.parametrize(("effect", "told"), [(Refuse(), "cannot be read"), (Hang(), "no answer within 5 s")])
@pytest.mark.world(nodes=1)
async def test_an_api_server_that_does_not_answer_leaves_the_other_lines_standing(world, effect, told):
    replica = world.start(rules=[Rule(effect, since_seconds=10)])
    await world.clock.sleep(20)
    checkup = await replica.mooring.queries.doctor.examine()
    (api,) = [check for check in checkup.checks if check.id == "api"]
    assert api.status in ("fail", "unknown") and api.message.startswith(told) and "api line" not in api.fix
    assert {"ledger", "clock/ledger"} <= set(lines(checkup, "ok"))
    assert "permissions" in lines(checkup, "unknown") and checkup.seconds <= 5.1


@pytest.mark.world(nodes=1)
async def test_a_ledger_that_hangs_is_a_failing_line_whose_fix_is_about_the_database(world, monkeypatch):
    replica = world.start()
    await world.clock.sleep(20)

    async def hang(_):
        await world.clock.sleep(60)

    for method in ("incarnation", "time", "link"):
        monkeypatch.setattr(type(world.ledger.meta), method, hang)
    checkup = await replica.mooring.queries.doctor.examine()
    ledger = lines(checkup, "fail")["ledger"]
    assert ledger.message == "no answer within 5 s" and "PostgreSQL" in ledger.fix and "line" not in ledger.fix
    assert lines(checkup, "unknown")["clock/ledger"].fix == "see the lines api and ledger"
    assert "api" in lines(checkup, "ok") and checkup.seconds <= 5.1


async def test_nodes_that_may_not_be_listed_are_a_line_with_the_missing_verb_and_the_rest_is_examined():
    forbidden = Answer(403, "Forbidden", 'nodes is forbidden: User "mooring" cannot list resource "nodes"')

    async with harbour(nodes=1) as world:
        replica = world.start(rules=[Rule(forbidden, resource="nodes")])
        await world.clock.sleep(20)
        assert replica.mooring.readiness.obstacles
        checkup = await replica.mooring.queries.doctor.examine()
        assert 'cannot list resource "nodes"' in lines(checkup, "fail")["cache/nodes"].message
        assert {"api", "ledger", "cache/pods", "permission/pods"} <= set(lines(checkup, "ok"))


@pytest.mark.slow
async def test_a_pool_whose_workers_crash_is_one_failing_line_with_its_last_words_and_a_fix():
    def crash(_):
        return Script(run_seconds=0.5, exit_code=1, logs=("starting", "cannot find /etc/worker.conf"))

    async with harbour(nodes=2, scripts=crash) as world:
        replica = world.start()
        await world.pool(warm=3, max=4)
        await world.clock.sleep(17 * 60)
        failing = lines(await replica.mooring.queries.doctor.examine(), "fail")
        check = failing[f"pool/{NAMESPACE}/linux"]
        assert "3 of 3 worker(s) fail" in check.message
        assert "cannot find /etc/worker.conf" in check.message
        assert "kubectl" in check.fix and "raise" not in check.fix
        (pool,) = [pool for pool in replica.mooring.queries.fleet.pools() if pool.name == "linux"]
        assert pool.why.fix.startswith(f"mooring explain pod/{NAMESPACE}/linux-")
        workers = await replica.mooring.queries.fleet.workers(pool="linux")
        assert [(worker.failing, " pod=" in worker.reason) for worker in workers] == [(True, False)] * 3


@pytest.mark.slow
async def test_a_program_that_is_not_there_is_named_once_by_doctor_and_pool():
    absent = 'failed to start: exec: "nosuchprogram": executable file not found in $PATH'
    async with harbour(nodes=2, scripts=lambda _: Script(start_error=absent)) as world:
        replica = world.start()
        await world.pool(warm=3, max=4)
        await world.clock.sleep(17 * 60)
        check = lines(await replica.mooring.queries.doctor.examine(), "fail")[f"pool/{NAMESPACE}/linux"]
        assert check.message.count(absent) == 1 and "written nothing" not in check.message
        (pool,) = [pool for pool in replica.mooring.queries.fleet.pools() if pool.name == "linux"]
        assert pool.why.message.count("restarting failed container") == 1 and " pod=" not in pool.why.message


async def test_a_mint_that_the_outgoing_policy_refuses_is_a_failing_line(world):
    world.mint.refused = {"http://169.254.169.254/": "it is link-local"}
    replica = world.start()
    await world.pool("near", warm=0, max=1, mint={"url": "http://mint.example.com/"})
    await world.pool("far", warm=0, max=1, mint={"url": "http://169.254.169.254/"})
    revoking = {"url": "http://mint.example.com/", "revokeURL": "http://169.254.169.254/"}
    await world.pool("late", warm=0, max=1, mint=revoking)
    await world.clock.sleep(10)
    found = {check.id: check for check in (await replica.mooring.queries.doctor.examine()).checks}
    assert found[f"mint/{NAMESPACE}/near"].status == "ok"
    far, late = found[f"mint/{NAMESPACE}/far"], found[f"mint/{NAMESPACE}/late"]
    assert (far.status, far.message) == ("fail", "spec.mint.url is not called: it is link-local")
    assert (late.status, late.message) == ("fail", "spec.mint.revokeURL is not called: it is link-local")
    assert far.fix.startswith("correct the URL")

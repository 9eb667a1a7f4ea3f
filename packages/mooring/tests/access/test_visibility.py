"""Lists show what may be seen, and whoami says what may be done."""

from hawser.resources import ROLEBINDINGS, ROLES
from mooring.incidents.stage import NAMESPACE
from packages.mooring.tests.access.front import OPERATOR_TOKEN, RBAC, make_account, make_namespace, open_front
from packages.mooring.tests.access.judging import FOREIGN, make_callers


async def names(front, path, token):
    return [item.get("name") or item["id"] for item in (await front.call("GET", path, token)).json["items"]]


async def test_nodes_are_those_of_workers_that_may_be_seen_with_these_counted(world):
    async with open_front(world, world.start()) as front:
        callers = await make_callers(world)
        await world.pool(warm=2, max=2)
        await world.until_idle(2)
        everything = await names(front, "/v1/nodes", callers.operator)
        assert len(everything) == 4 == len(await names(front, "/v1/nodes", OPERATOR_TOKEN))
        seen = (await front.call("GET", "/v1/nodes", callers.reader)).json["items"]
        assert 1 <= len(seen) <= 2 and sum(node["workers"]["idle"] for node in seen) == 2
        assert await names(front, "/v1/nodes", callers.foreign) == []
        unseen = await front.call("GET", f"/v1/drain-check/{seen[0]['name']}", callers.foreign)
        assert unseen.status == 404 and "exist" not in str(unseen.json)


async def test_the_audit_shows_rows_of_namespaces_that_may_be_seen_and_all_to_who_reads_invariants(world):
    async with open_front(world, world.start()) as front:
        callers = await make_callers(world)
        await world.pool(warm=1, max=1, reuse="Always")
        await world.until_idle(1)
        made = (await front.call("POST", f"/v1/pools/{NAMESPACE}/linux/claims", callers.holder, {})).json
        await front.call("DELETE", f"/v1/claims/{made['id']}", callers.operator)
        await front.call("POST", "/v1/invariants/adopted/resume", callers.operator, {"reason": "over"})

        async def kinds(token):
            rows = (await front.call("GET", "/v1/audit", token)).json["items"]
            return {row["kind"] for row in rows}

        assert await kinds(callers.operator) >= {"Claim", "Invariant"}
        assert await kinds(callers.reader) == {"Claim"}
        assert await kinds(callers.foreign) == set()


async def test_events_name_only_what_may_be_seen(world):
    async with open_front(world, world.start()) as front:
        callers = await make_callers(world)
        await world.pool("vault", warm=1, max=1)
        for token, expected in ((callers.reader, True), (callers.foreign, False), (callers.operator, True)):
            received, _ = await front.follow("/v1/events", token, 3)
            await world.change({"idleSeconds": 400 + len(token)}, "vault")
            received, _ = await front.follow("/v1/events", token, 3)
            assert (b"vault" in received) is expected


async def test_whoami_says_who_the_caller_is_and_what_it_may_do(world):
    async with open_front(world, world.start()) as front:
        callers = await make_callers(world)
        await world.pool(warm=1, max=1)
        caller = (await front.call("GET", f"/v1/whoami?namespace={NAMESPACE}", callers.holder)).json
        assert (caller["user"], caller["via"]) == (f"system:serviceaccount:{NAMESPACE}:holder", "kubernetes")
        assert caller["owner"] == f"{NAMESPACE}.holder" and caller["namespaces"] == [NAMESPACE]
        allowed = {right for right, may in caller["rights"].items() if may}
        assert allowed == {"read", "claim"}
        everywhere = (await front.call("GET", "/v1/whoami", callers.holder)).json
        assert not any(everywhere["rights"].values())
        operator = (await front.call("GET", "/v1/whoami", OPERATOR_TOKEN)).json
        assert (operator["user"], operator["via"]) == ("operator", "operator") and all(operator["rights"].values())


async def test_a_role_for_one_pool_allows_that_pool_alone(world):
    async with open_front(world, world.start()) as front:
        await world.pool(warm=1, max=1, reuse="Always")
        await world.pool("other", warm=1, max=1, reuse="Always")
        await world.until_idle(1)
        await world.until_idle(1, name="other")
        token = await make_account(world, NAMESPACE, "narrow")
        rule = {"apiGroups": ["mooring.dev"], "resources": ["workerpools/claims"], "verbs": ["create"]}
        await world.client.create(ROLES, role("claim-linux", {**rule, "resourceNames": ["linux"]}), NAMESPACE)
        await world.client.create(ROLEBINDINGS, binding("claim-linux", "narrow"), NAMESPACE)
        assert (await front.call("POST", f"/v1/pools/{NAMESPACE}/linux/claims", token, {})).status == 201
        assert (await front.call("POST", f"/v1/pools/{NAMESPACE}/other/claims", token, {})).status == 403


async def test_a_submission_needs_the_callers_own_right_to_make_jobs(world):
    async with open_front(world, world.start()) as front:
        await make_namespace(world, FOREIGN)
        token = await make_account(world, NAMESPACE, "editor", "mooring-edit")
        order = {"key": "one", "namespace": NAMESPACE, "program": "run", "batches": [{"args": ["1"]}]}
        refused = await front.call("POST", "/v1/submissions", token, order)
        assert refused.status == 403 and refused.json["detail"]["resource"] == "jobs"
        jobs = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]}
        await world.client.create(ROLES, role("jobs", jobs), NAMESPACE)
        await world.client.create(ROLEBINDINGS, binding("jobs", "editor"), NAMESPACE)
        await world.clock.sleep(10)
        assert (await front.call("POST", "/v1/submissions", token, order)).status == 201
        elsewhere = await front.call("POST", "/v1/submissions", token, {**order, "namespace": FOREIGN})
        assert elsewhere.status == 403


async def test_to_retire_a_claimed_worker_needs_the_right_to_end_claims(world):
    async with open_front(world, world.start()) as front:
        await world.pool(warm=1, max=1, reuse="Always")
        await world.until_idle(1)
        token = await make_account(world, NAMESPACE, "retirer")
        rule = {"apiGroups": ["mooring.dev"], "resources": ["workerpools/workers"], "verbs": ["delete"]}
        await world.client.create(ROLES, role("retire", rule), NAMESPACE)
        await world.client.create(ROLEBINDINGS, binding("retire", "retirer"), NAMESPACE)
        path = f"/v1/workers/{NAMESPACE}/linux-0/retire"
        assert (await front.call("POST", path, token, {"reason": "old", "force": True})).status == 403
        assert (await front.call("POST", path, token, {"reason": "old"})).status == 200


def role(name, rule):
    return {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": name}, "rules": [rule]}


def binding(name, account):
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{name}-{account}"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    }

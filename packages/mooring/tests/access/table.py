"""Every route, and what each kind of caller gets from it. The same table holds in virtual time and on Kubernetes.

Columns: a caller with all rights in another namespace, a reader of this namespace, an operator of the cluster, another
owner (it may claim in this namespace, and holds another claim), and the holder of the claim. The last two get what a
reader gets, unless the row says otherwise.
No token, an empty, a wrong and an expired one get 401 everywhere but on open routes.
"""

import json
from dataclasses import dataclass
from typing import Any

SERVED = (200, 201, 202, 204, 303)
SECRETS = ("vault", "dataset-core", "job-core", "finder")  # names of objects in the namespace of the table


@dataclass(frozen=True, slots=True)
class Row:
    """One route."""

    target: str
    foreign: int
    reader: int
    operator: tuple[int, ...] = SERVED
    body: Any = None
    open: bool = False
    other: int | None = None
    holder: int | None = None

    @property
    def for_other(self) -> int:
        """What another owner gets."""
        return self.reader if self.other is None else self.other

    @property
    def for_holder(self) -> int:
        """What the holder gets."""
        return self.for_other if self.holder is None else self.holder


@dataclass(frozen=True, slots=True)
class Call:
    """One request; `{names}` stand for what the holder's claim has."""

    method: str
    target: str
    body: Any = None


NO = 403
GET, POST, PUT, DELETE = "GET", "POST", "PUT", "DELETE"
ORDER = {"key": "table", "namespace": "runners", "program": "run", "batches": [{"args": ["1"]}]}
MANIFEST = "metadata: {name: finder, namespace: runners}\nspec: {image: busybox, port: 80}"
SERVICE = {"image": "busybox", "port": 80}
WHY = {"reason": "the table"}
TEMPLATE = {"spec": {"containers": [{"name": "w", "image": "busybox"}]}}
POOL = {"warm": 1, "max": 4, "template": TEMPLATE}
POOL_MANIFEST = "metadata: {name: paged, namespace: runners}\nspec: " + json.dumps(POOL)
WORK = "metadata: {namespace: runners}\nspec: {key: paged, program: run, batches: [{args: ['1']}]}"

TABLE: dict[tuple[str, str], Row] = {
    (GET, "/healthz"): Row("/healthz", 200, 200, open=True),
    (GET, "/readyz"): Row("/readyz", 200, 200, open=True),
    (GET, "/metrics"): Row("/metrics", 200, 200, open=True),
    (GET, "/openapi.json"): Row("/openapi.json", 200, 200, open=True),
    (GET, "/login"): Row("/login", 200, 200, open=True),
    (GET, "/runbook"): Row("/runbook", 200, 200, open=True),
    (GET, "/runbook/{page:str}"): Row("/runbook/errors", 200, 200, open=True),
    (GET, "/static/{path:path}"): Row("/static/mooring.css", 200, 200, open=True),
    (POST, "/logout"): Row("/logout", 303, 303, body={}, open=True),
    (GET, "/v1/whoami"): Row("/v1/whoami", 200, 200),
    # pools, workers, nodes
    (GET, "/v1/pools"): Row("/v1/pools", 200, 200),
    (GET, "/v1/pools/{namespace:str}/{name:str}"): Row("/v1/pools/runners/vault", NO, 200),
    (GET, "/v1/pools/{namespace:str}/{name:str}/history"): Row("/v1/pools/runners/vault/history", NO, 200),
    (GET, "/v1/pools/{namespace:str}/{name:str}/demand"): Row("/v1/pools/runners/vault/demand", NO, 404, (404,)),
    (GET, "/v1/pools/{namespace:str}/{name:str}/arrivals"): Row("/v1/pools/runners/vault/arrivals", NO, 200),
    (GET, "/v1/usage"): Row("/v1/usage", 200, 200),
    (GET, "/v1/workers"): Row("/v1/workers", 200, 200),
    (GET, "/v1/workers/{namespace:str}/{name:str}"): Row("/v1/workers/runners/vault-0", NO, 200),
    (GET, "/v1/nodes"): Row("/v1/nodes", 200, 200),
    (GET, "/v1/drain-check/{node:str}"): Row("/v1/drain-check/{node}", 404, 200),
    (POST, "/v1/pools/{namespace:str}/{name:str}/adopt"): Row(
        "/v1/pools/runners/vault/adopt", NO, NO, body={"selector": "a=b", "dryRun": True, **WHY}
    ),
    (POST, "/v1/workers/{namespace:str}/{name:str}/retire"): Row(
        "/v1/workers/runners/nobody/retire", NO, NO, (404,), body=WHY
    ),
    # claims; {claim} is held by the holder
    (POST, "/v1/pools/{namespace:str}/{name:str}/claims"): Row(
        "/v1/pools/runners/vault/claims", NO, NO, body={}, other=201
    ),
    (GET, "/v1/claims"): Row("/v1/claims", 200, 200),
    (GET, "/v1/claims/{claim_id:str}"): Row("/v1/claims/{claim}", 404, 200),
    (GET, "/v1/claims/{claim_id:str}/stream"): Row("/v1/claims/{claim}/stream", 404, NO, (403,), holder=200),
    (GET, "/v1/claims/{claim_id:str}/result"): Row("/v1/claims/{claim}/result", 404, 404, (404,)),
    (POST, "/v1/claims/{claim_id:str}/heartbeat"): Row(
        "/v1/claims/{claim}/heartbeat", 404, NO, (403,), body={"epoch": "{epoch}"}, holder=200
    ),
    (DELETE, "/v1/claims/{claim_id:str}"): Row("/v1/claims/{claim}", 404, NO, holder=200),
    # dispatch: the token of a caller is not a worker's
    (POST, "/v1/dispatch"): Row("/v1/dispatch", 401, 401, (401,), body={}),
    (POST, "/v1/dispatch/heartbeat"): Row("/v1/dispatch/heartbeat", 401, 401, (401,), body={"claim": "x", "epoch": 1}),
    (POST, "/v1/dispatch/done"): Row(
        "/v1/dispatch/done", 401, 401, (401,), body={"claim": "x", "epoch": 1, "exitCode": 0}
    ),
    # warmups
    (GET, "/v1/warmups"): Row("/v1/warmups", 200, 200),
    (GET, "/v1/warmups/{namespace:str}/{name:str}"): Row("/v1/warmups/runners/dataset-core", NO, 200, other=NO),
    (POST, "/v1/warmups/{namespace:str}/{name:str}/rewarm"): Row("/v1/warmups/runners/dataset-core/rewarm", NO, NO),
    (POST, "/v1/warmups/{namespace:str}/{name:str}/close-circuit"): Row(
        "/v1/warmups/runners/dataset-core/close-circuit", NO, NO
    ),
    # submissions
    (GET, "/v1/submissions"): Row("/v1/submissions", 200, 200),
    (POST, "/v1/submissions"): Row("/v1/submissions", NO, NO, (201,), body=ORDER),
    (GET, "/v1/submissions/{namespace:str}/{name:str}"): Row("/v1/submissions/runners/job-core", NO, 200, other=NO),
    (GET, "/v1/submissions/{namespace:str}/{name:str}/logs"): Row(
        "/v1/submissions/runners/job-core/logs?step=main", NO, 404, (404,), other=NO
    ),
    (POST, "/v1/submissions/{namespace:str}/{name:str}/cancel"): Row(
        "/v1/submissions/runners/nobody/cancel", NO, NO, (404,), body=WHY
    ),
    (DELETE, "/v1/submissions/{namespace:str}/{name:str}"): Row("/v1/submissions/runners/nobody", NO, NO, (404,)),
    # services
    (GET, "/v1/services"): Row("/v1/services", 200, 200),
    (GET, "/v1/services/{namespace:str}/{name:str}"): Row("/v1/services/runners/finder", NO, 200, other=NO),
    (GET, "/v1/services/{namespace:str}/{name:str}/document"): Row(
        "/v1/services/runners/nobody/document", NO, 404, (404,), other=NO
    ),
    (PUT, "/v1/services/{namespace:str}/{name:str}"): Row(
        "/v1/services/runners/finder?dryRun=true", NO, NO, body=SERVICE
    ),
    (DELETE, "/v1/services/{namespace:str}/{name:str}"): Row("/v1/services/runners/finder?dryRun=true", NO, NO),
    # the cluster as a whole
    (GET, "/v1/invariants"): Row("/v1/invariants", NO, NO),
    (POST, "/v1/invariants/{invariant:str}/pause"): Row("/v1/invariants/adopted/pause", NO, NO, body=WHY),
    (POST, "/v1/invariants/{invariant:str}/resume"): Row("/v1/invariants/adopted/resume", NO, NO, body=WHY),
    (GET, "/v1/ledger"): Row("/v1/ledger", NO, NO),
    (POST, "/v1/ledger/arm"): Row("/v1/ledger/arm", NO, NO, (409,), body={"incarnation": "x", **WHY}),
    (GET, "/v1/doctor"): Row("/v1/doctor", NO, NO),
    (GET, "/v1/audit"): Row("/v1/audit", 200, 200),
    (GET, "/v1/events"): Row("/v1/events", 200, 200),
    (GET, "/v1/explain/pods/{namespace:str}/{name:str}"): Row("/v1/explain/pods/runners/vault-0", NO, NO),
    # pages: the same as /v1
    (POST, "/login"): Row("/login", 401, 401, (401,), body={"token": "wrong"}, open=True),
    (GET, "/"): Row("/", 200, 200),
    (GET, "/workers.json"): Row("/workers.json", 200, 200),
    (GET, "/workers.csv"): Row("/workers.csv", 200, 200),
    (GET, "/pools.json"): Row("/pools.json", 200, 200),
    (GET, "/pools.csv"): Row("/pools.csv", 200, 200),
    (GET, "/nodes.json"): Row("/nodes.json", 200, 200),
    (GET, "/nodes.csv"): Row("/nodes.csv", 200, 200),
    (GET, "/cells.json"): Row("/cells.json?node={node}", 200, 200),
    (GET, "/claims"): Row("/claims", 200, 200),
    (GET, "/claims.json"): Row("/claims.json", 200, 200),
    (GET, "/claims.csv"): Row("/claims.csv", 200, 200),
    (GET, "/audit"): Row("/audit", 200, 200),
    (GET, "/audit.json"): Row("/audit.json", 200, 200),
    (GET, "/audit.csv"): Row("/audit.csv", 200, 200),
    (GET, "/invariants"): Row("/invariants", NO, NO),
    (GET, "/invariants.json"): Row("/invariants.json", NO, NO),
    (GET, "/invariants.csv"): Row("/invariants.csv", NO, NO),
    (GET, "/doctor"): Row("/doctor", NO, NO),
    (GET, "/doctor.json"): Row("/doctor.json", NO, NO),
    (GET, "/doctor.csv"): Row("/doctor.csv", NO, NO),
    (GET, "/usage"): Row("/usage", 200, 200),
    (GET, "/usage.json"): Row("/usage.json", 200, 200),
    (GET, "/usage.csv"): Row("/usage.csv", 200, 200),
    (GET, "/explain/{namespace:str}/{name:str}"): Row("/explain/runners/vault-0", NO, NO),
    (GET, "/workers/{namespace:str}/{name:str}"): Row("/workers/runners/vault-0", NO, 200),
    (GET, "/pools/{namespace:str}/{name:str}"): Row("/pools/runners/vault", NO, 200),
    (PUT, "/v1/pools/{namespace:str}/{name:str}"): Row("/v1/pools/runners/vault?dryRun=true", NO, NO, body=POOL),
    (GET, "/pools/new"): Row("/pools/new", 200, 200),
    (GET, "/pools/{namespace:str}/{name:str}/edit"): Row("/pools/runners/vault/edit", NO, NO),
    (POST, "/actions/pools/check"): Row("/actions/pools/check", NO, NO, body={"manifest": POOL_MANIFEST}),
    (POST, "/actions/pools/apply"): Row("/actions/pools/apply", NO, NO, body={"manifest": POOL_MANIFEST}),
    (GET, "/actions/pools/{namespace:str}/{name:str}/scale"): Row("/actions/pools/runners/vault/scale", NO, NO),
    (POST, "/actions/pools/{namespace:str}/{name:str}/scale"): Row(
        "/actions/pools/runners/nobody/scale", NO, NO, (404,), body={"warm": 1}
    ),
    (GET, "/actions/pools/{namespace:str}/{name:str}/claim"): Row(
        "/actions/pools/runners/vault/claim", NO, NO, other=200
    ),
    (POST, "/actions/pools/{namespace:str}/{name:str}/claim"): Row(
        "/actions/pools/runners/nobody/claim", NO, NO, (404,), body={}, other=404
    ),
    (GET, "/submissions/new"): Row("/submissions/new", 200, 200),
    (POST, "/actions/submissions/check"): Row("/actions/submissions/check", NO, NO, body={"manifest": WORK}),
    (POST, "/actions/submissions/apply"): Row("/actions/submissions/apply", NO, NO, body={"manifest": WORK}),
    (GET, "/find.json"): Row("/find.json?q=v", 200, 200),
    (GET, "/logs/{namespace:str}/{name:str}"): Row("/logs/runners/vault-0", NO, NO),
    (GET, "/claims/{claim_id:str}"): Row("/claims/{claim}", 404, 200),
    (GET, "/warmups/{namespace:str}/{name:str}"): Row("/warmups/runners/dataset-core", NO, 200, other=NO),
    (GET, "/submissions/{namespace:str}/{name:str}"): Row("/submissions/runners/job-core", NO, 200, other=NO),
    (GET, "/services/{namespace:str}/{name:str}"): Row("/services/runners/finder", NO, 200, other=NO),
    (GET, "/actions/claims/{claim_id:str}/release"): Row("/actions/claims/{claim}/release", 404, NO, holder=200),
    (GET, "/actions/workers/{namespace:str}/{name:str}/retire"): Row("/actions/workers/runners/vault-0/retire", NO, NO),
    (GET, "/actions/invariants/{invariant:str}/pause"): Row("/actions/invariants/adopted/pause", NO, NO),
    (GET, "/actions/invariants/{invariant:str}/resume"): Row("/actions/invariants/adopted/resume", NO, NO),
    (GET, "/actions/warmups/{namespace:str}/{name:str}/rewarm"): Row(
        "/actions/warmups/runners/dataset-core/rewarm", NO, NO
    ),
    (GET, "/actions/warmups/{namespace:str}/{name:str}/close-circuit"): Row(
        "/actions/warmups/runners/dataset-core/close-circuit", NO, NO
    ),
    (GET, "/actions/submissions/{namespace:str}/{name:str}/cancel"): Row(
        "/actions/submissions/runners/job-core/cancel", NO, NO
    ),
    (GET, "/actions/services/{namespace:str}/{name:str}/delete"): Row(
        "/actions/services/runners/finder/delete", NO, NO
    ),
    (GET, "/nodes/{name:str}"): Row("/nodes/{node}", 404, 200),
    (GET, "/warmups"): Row("/warmups", 200, 200),
    (GET, "/warmups.json"): Row("/warmups.json", 200, 200),
    (GET, "/warmups.csv"): Row("/warmups.csv", 200, 200),
    (GET, "/submissions"): Row("/submissions", 200, 200),
    (GET, "/submissions.json"): Row("/submissions.json", 200, 200),
    (GET, "/submissions.csv"): Row("/submissions.csv", 200, 200),
    (GET, "/services"): Row("/services", 200, 200),
    (GET, "/services.json"): Row("/services.json", 200, 200),
    (GET, "/services.csv"): Row("/services.csv", 200, 200),
    (GET, "/services/deploy"): Row("/services/deploy?service=runners/finder", 404, 200, other=404),
    (GET, "/docs"): Row("/docs", 200, 200),
    (GET, "/docs/{namespace:str}/{name:str}"): Row("/docs/runners/finder", NO, 200, other=NO),
    (GET, "/docs/{namespace:str}/{name:str}/openapi.json"): Row(
        "/docs/runners/nobody/openapi.json", NO, 404, (404,), other=NO
    ),
    (GET, "/stream"): Row("/stream?page=fleet", 200, 200),
    # only `mooring up` has these
    (GET, "/replays"): Row("/replays", 200, 200),
    (GET, "/replays/{replay:str}"): Row("/replays/node-rotation", 200, 200),
    (GET, "/replays/{replay:str}/recording.json"): Row("/replays/node-rotation/recording.json", 200, 200),
    (POST, "/actions/claims/{claim_id:str}/release"): Row(
        "/actions/claims/{claim}/release", 404, NO, (303,), body={}, holder=303
    ),
    (POST, "/actions/workers/{namespace:str}/{name:str}/retire"): Row(
        "/actions/workers/runners/nobody/retire", NO, NO, (404,), body={}
    ),
    (POST, "/actions/invariants/{invariant:str}/pause"): Row("/actions/invariants/adopted/pause", NO, NO, body={}),
    (POST, "/actions/invariants/{invariant:str}/resume"): Row("/actions/invariants/adopted/resume", NO, NO, body={}),
    (POST, "/actions/warmups/{namespace:str}/{name:str}/rewarm"): Row(
        "/actions/warmups/runners/dataset-core/rewarm", NO, NO, body={}
    ),
    (POST, "/actions/warmups/{namespace:str}/{name:str}/close-circuit"): Row(
        "/actions/warmups/runners/dataset-core/close-circuit", NO, NO, body={}
    ),
    (POST, "/actions/submissions/{namespace:str}/{name:str}/cancel"): Row(
        "/actions/submissions/runners/nobody/cancel", NO, NO, (404,), body={}
    ),
    (POST, "/actions/services/check"): Row("/actions/services/check", NO, NO, body={"manifest": MANIFEST}),
    (POST, "/actions/services/apply"): Row("/actions/services/apply", NO, NO, body={"manifest": MANIFEST}),
    (POST, "/actions/services/{namespace:str}/{name:str}/delete"): Row(
        "/actions/services/runners/nobody/delete", NO, NO, (404,), body={}
    ),
}

CLAIMS = "/v1/pools/runners/vault/claims"
# What another owner asks about the claim, even with its id, epoch and key.
OTHER_OWNER: tuple[tuple[Call, int], ...] = (
    (Call(POST, CLAIMS, {"owner": "runners.holder"}), NO),
    (Call(POST, CLAIMS, {"owner": "acme"}), NO),
    (Call(POST, CLAIMS, {"idempotencyKey": "{key}"}), 409),
    (Call(POST, "/v1/claims/{claim}/heartbeat", {"epoch": "{epoch}"}), NO),
    (Call(DELETE, "/v1/claims/{claim}?epoch={epoch}"), NO),
    (Call(DELETE, "/v1/claims/{claim}"), NO),
)

"""Goes through the table with each kind of caller."""

from dataclasses import dataclass
from typing import Any

from hawser.resources import PODS
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.kinds.resources import MANAGEDSERVICES, SUBMISSIONS, WARMUPS
from packages.mooring.tests.access.front import ADDRESS, Front, expired, make_account, make_namespace
from packages.mooring.tests.access.table import SECRETS, TABLE, Row

FOREIGN = "elsewhere"


@dataclass(frozen=True, slots=True)
class Callers:
    """Tokens of callers."""

    holder: str
    rival: str  # may claim too, and holds nothing
    reader: str
    foreign: str
    operator: str


async def make_callers(stage: Stage) -> Callers:
    await make_namespace(stage, FOREIGN)
    return Callers(
        holder=await make_account(stage, NAMESPACE, "holder", "mooring-claimer"),
        rival=await make_account(stage, NAMESPACE, "rival", "mooring-claimer"),
        reader=await make_account(stage, NAMESPACE, "reader", "mooring-view"),
        foreign=await make_account(stage, FOREIGN, "stranger", "mooring-operator"),
        operator=await make_account(stage, NAMESPACE, "operator", "mooring-operator", everywhere=True),
    )


async def make_objects(stage: Stage) -> str:
    """One object of each kind in the namespace of the table; answers the node that its workers are on."""
    await stage.pool("vault", warm=3, max=4, reuse="Always")
    template = {"image": "busybox"}
    for resource, name, spec in (
        (WARMUPS, "dataset-core", {"dataset": "core", "generation": "1", "shards": 1, "command": ["true"], **template}),
        (SUBMISSIONS, "job-core", {"key": "job-core", "program": "run", "batches": [{"args": ["1"]}]}),
        (MANAGEDSERVICES, "finder", {"port": 80, **template}),
    ):
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
        await stage.client.create(resource.raw(), body, NAMESPACE)
    await stage.until_idle(3, name="vault")
    return (await stage.client.get(PODS, "vault-0", NAMESPACE)).spec.node_name


def fill(text: Any, values: dict[str, str]) -> Any:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


async def judge_table(front: Front, callers: Callers, node: str) -> list[str]:
    """Every deviation from the table."""
    pool = f"/v1/pools/{NAMESPACE}/vault/claims"
    wrong: list[str] = []
    for (method, _), row in TABLE.items():
        claim = (await front.call("POST", pool, callers.holder, {"payload": {"secret": "canary-payload"}})).json
        values = {"claim": claim["id"], "node": node}
        target = fill(row.target, values)
        for name, token in (
            ("no token", None),
            ("empty", ""),
            ("wrong", "wrong"),
            ("wrong JWT", "a.b.c"),
            ("expired", expired(callers.operator)),
        ):
            front.access.brake.succeed(f"address/{ADDRESS}")
            answer = await front.call(method, target, token, row.body)
            if answer.status != (row.foreign if row.open else 401):
                wrong.append(f"{method} {target} with {name}: {answer.status}")
        for name, token, expected in (
            ("foreign", callers.foreign, (row.foreign,)),
            ("reader", callers.reader, (row.reader,)),
            ("operator", callers.operator, row.operator),
        ):
            front.access.brake.succeed(f"address/{ADDRESS}")
            answer = await front.call(method, target, token, row.body)
            if answer.status not in expected:
                wrong.append(f"{method} {target} as {name}: {answer.status}, not {expected}: {answer.body[:300]!r}")
            wrong += leaks(name, row, answer.body, f"{method} {target}")
        await front.call("DELETE", f"/v1/claims/{claim['id']}?epoch={claim['epoch']}", callers.holder)
    return wrong


def leaks(name: str, row: Row, body: bytes, request: str) -> list[str]:
    """What an answer must not contain."""
    found = [f"{request} as {name}: shows the payload"] if b"canary-payload" in body else []
    if name == "foreign" and not row.open:
        found += [f"{request} as foreign: names {one}" for one in SECRETS if f"{one}" in _own_words(body, row)]
    return found


def _own_words(body: bytes, row: Row) -> str:
    """The answer without what the request itself named."""
    asked = f"{row.target} {row.body}"
    text = body.decode("utf-8", "replace")
    return "".join(text.split()) if not any(one in asked for one in SECRETS) else ""

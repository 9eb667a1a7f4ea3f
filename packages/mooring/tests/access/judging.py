"""Goes through the table with each kind of caller."""

from dataclasses import dataclass
from typing import Any

from hawser.resources import PODS
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.kinds.resources import MANAGEDSERVICES, SUBMISSIONS, WARMUPS
from packages.mooring.tests.access.front import ADDRESS, Answer, Front, expired, make_account, make_namespace
from packages.mooring.tests.access.table import CLAIMS, OTHER_OWNER, SECRETS, TABLE, Call, Row

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


@dataclass(frozen=True, slots=True)
class Held:
    """The holder's claim, as the table names it."""

    id: str
    epoch: int
    key: str
    node: str

    def fill(self, value: Any) -> Any:
        """A target or a body with what its `{names}` stand for."""
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        if value == "{epoch}":
            return self.epoch
        for name, found in (("claim", self.id), ("epoch", str(self.epoch)), ("key", self.key), ("node", self.node)):
            value = value.replace(f"{{{name}}}", found) if isinstance(value, str) else value
        return value


class Judge:
    """Sends the requests of the table, and collects every deviation from it."""

    def __init__(self, front: Front, callers: Callers, node: str) -> None:
        self._front = front
        self._callers = callers
        self._node = node
        self.wrong: list[str] = []

    async def judge(self) -> list[str]:
        """Every deviation."""
        await self._front.call("POST", CLAIMS, self._callers.rival, {})
        for number, ((method, _), row) in enumerate(TABLE.items()):
            held = await self._claim(self._callers.holder, f"build-{number}")
            await self._judge_strangers(method, row, held)
            await self._judge_callers(method, row, held)
            await self._release(self._callers.holder, held.id, held.epoch)
        await self._judge_other_owner(await self._claim(self._callers.holder, "build"))
        return self.wrong

    async def _judge_strangers(self, method: str, row: Row, held: Held) -> None:
        for name, token in (
            ("no token", None),
            ("empty", ""),
            ("wrong", "wrong"),
            ("wrong JWT", "a.b.c"),
            ("expired", expired(self._callers.operator)),
        ):
            expected = row.foreign if row.open else 401
            await self._ask(name, token, Call(method, row.target, row.body), (expected,), held)

    async def _judge_callers(self, method: str, row: Row, held: Held) -> None:
        callers, call = self._callers, Call(method, row.target, row.body)
        for name, token, expected in (
            ("foreign", callers.foreign, (row.foreign,)),
            ("reader", callers.reader, (row.reader,)),
            ("other owner", callers.rival, (row.for_other,)),
            ("holder", callers.holder, (row.for_holder,)),
        ):
            answer = await self._ask(name, token, call, expected, held)
            self.wrong += leaks(name, row, answer.body, f"{method} {row.target}")
        if row.holder is not None:  # the holder may have ended it
            held = await self._claim(callers.holder, f"{held.key}-again")
        await self._ask("operator", callers.operator, call, row.operator, held)
        await self._release(callers.holder, held.id, held.epoch)

    async def _judge_other_owner(self, held: Held) -> None:
        for call, expected in OTHER_OWNER:
            answer = await self._ask("other owner", self._callers.rival, call, (expected,), held)
            if "{claim}" not in call.target and held.id.encode() in answer.body:
                self.wrong.append(f"{call} as other owner: names the claim")

    async def _ask(self, name: str, token: str | None, call: Call, expected: tuple[int, ...], held: Held) -> Answer:
        self._front.access.throttle.succeed(f"address/{ADDRESS}")
        answer = await self._front.call(call.method, held.fill(call.target), token, held.fill(call.body))
        if answer.status not in expected:
            self.wrong.append(f"{call} as {name}: {answer.status}, not {expected}: {answer.body[:300]!r}")
        if answer.status == 201 and call.target == CLAIMS and token is not None:
            await self._release(token, answer.json["id"], answer.json["epoch"])
        return answer

    async def _claim(self, token: str, key: str) -> Held:
        body = {"payload": {"secret": "canary-payload"}, "idempotencyKey": key}
        made = (await self._front.call("POST", CLAIMS, token, body)).json
        return Held(made["id"], made["epoch"], key, self._node)

    async def _release(self, token: str, claim: str, epoch: int) -> None:
        await self._front.call("DELETE", f"/v1/claims/{claim}?epoch={epoch}", token)


def leaks(name: str, row: Row, body: bytes, request: str) -> list[str]:
    """What an answer must not contain."""
    found = [f"{request} as {name}: shows the payload"] if b"canary-payload" in body and name != "holder" else []
    if name == "foreign" and not row.open:
        found += [f"{request} as foreign: names {one}" for one in SECRETS if f"{one}" in _own_words(body, row)]
    return found


def _own_words(body: bytes, row: Row) -> str:
    """The answer without what the request itself named."""
    asked = f"{row.target} {row.body}"
    text = body.decode("utf-8", "replace")
    return "".join(text.split()) if not any(one in asked for one in SECRETS) else ""

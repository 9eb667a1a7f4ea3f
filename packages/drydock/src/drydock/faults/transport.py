"""The fault layer: a transport around another one, which does to each call what the plan says."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Never, assert_never

import msgspec

from drydock.faults.effects import (
    Answer,
    ArriveLate,
    CallEffect,
    Crash,
    Delay,
    Duplicate,
    Effect,
    EmptyList,
    Hang,
    LoseAnswer,
    Refuse,
    StaleRead,
    StreamEffect,
)
from drydock.faults.plan import Plan, is_mutation, is_watch
from drydock.faults.process import Call, Process
from drydock.faults.stream import Lines, disturbed, lines_of
from hawser.clock import Clock, Entropy
from hawser.errors import ConnectionFailed, KubeError
from hawser.transport import Request, Response, Transport

_ANSWERS_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Recorded:
    at: float
    status: int
    headers: Mapping[str, str]
    body: bytes

    def response(self) -> Response:
        return Response(self.status, self.headers, _once(self.body))


class FaultyTransport:
    """Delays add up, the first other fault of a call is the one that happens, faults of a watch are put in a row."""

    def __init__(
        self, inner: Transport, plan: Plan, clock: Clock, entropy: Entropy, process: Process | None = None
    ) -> None:
        self.process = process or Process()
        self._inner = inner
        self._plan = plan
        self._clock = clock
        self._entropy = entropy
        self._made_at = clock.monotonic()
        self._keeps_answers = any(isinstance(rule.effect, StaleRead) for rule in plan.rules)
        self._late: set[asyncio.Task[None]] = set()  # requests that are still on their way
        self._answers: defaultdict[object, deque[_Recorded]] = defaultdict(lambda: deque(maxlen=_ANSWERS_KEPT))

    @property
    def calls(self) -> list[Call]:
        """Every call, in order."""
        return self.process.calls

    @property
    def mutations(self) -> int:
        """How many of the calls could change something."""
        return self.process.mutations

    async def send(self, request: Request) -> Response:
        life = self.process.life
        self.process.check(life)
        age = self._clock.monotonic() - self._made_at
        rules = [rule for rule in self._plan.firing(request, age, self._entropy) if self._can(rule.effect, request)]
        labels = [rule.label for rule in rules]
        self.process.begin(request.method, request.path, mutation=is_mutation(request), effects=labels)
        faults: list[CallEffect] = []
        stream: list[StreamEffect] = []
        for effect in (rule.effect for rule in rules):
            if isinstance(effect, Delay):
                await self._clock.sleep(effect.seconds + effect.spread_seconds * self._entropy.fraction())
            elif isinstance(effect, StreamEffect):
                stream.append(effect)
            else:
                faults.append(effect)
        self.process.check(life)
        response = await self._suffer(faults[0], request) if faults else await self._pass_on(request)
        self.process.check(life)
        if is_watch(request) and response.status == 200:
            return self._disturbed(response, stream, life)
        return response

    def _can(self, effect: Effect, request: Request) -> bool:
        return not isinstance(effect, StaleRead) or self._old_answer(request, effect) is not None

    async def _suffer(self, effect: CallEffect, request: Request) -> Response:
        match effect:
            case Refuse():
                raise ConnectionFailed(f"injected: {request.method} {request.path} was refused")
            case Answer(after_effect=False):
                return _error_answer(effect)
            case Answer():
                await self._carry_out(request)
                return _error_answer(effect)
            case LoseAnswer():
                await self._carry_out(request)
                raise ConnectionFailed(f"injected: the answer to {request.method} {request.path} was lost")
            case Duplicate():
                await self._carry_out(request)
                return await self._pass_on(request)
            case ArriveLate():
                self._send_later(request, effect.seconds + effect.spread_seconds * self._entropy.fraction())
                raise ConnectionFailed(f"injected: the connection of {request.method} {request.path} was cut")
            case Hang():
                if effect.after_effect:
                    await self._carry_out(request)
                await _hang(request)
            case StaleRead():
                old = self._old_answer(request, effect)
                return old.response() if old else await self._pass_on(request)
            case EmptyList():
                return await _emptied(await self._pass_on(request))
            case Crash(moment="before"):
                raise self.process.crash(f"before {request.method} {request.path}")
            case Crash():
                await self._carry_out(request)
                raise self.process.crash(f"after {request.method} {request.path}")
        assert_never(effect)

    async def _pass_on(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if not self._keeps_answers or request.method != "GET" or is_watch(request) or response.status != 200:
            return response
        body = await response.read()
        recorded = _Recorded(self._clock.monotonic(), response.status, response.headers, body)
        self._answers[request.path, request.query].append(recorded)
        return recorded.response()

    async def _carry_out(self, request: Request) -> None:
        """Let it happen and drop the answer."""
        response = await self._pass_on(request)
        await response.close()

    def _send_later(self, request: Request, seconds: float) -> None:
        """Whether its sender lives by then or not."""

        async def arrive() -> None:
            await self._clock.sleep(seconds)
            with suppress(KubeError):
                await self._carry_out(request)

        task = asyncio.create_task(arrive())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    def _old_answer(self, request: Request, effect: StaleRead) -> _Recorded | None:
        newest = self._clock.monotonic() - effect.age_seconds
        old_enough = [answer for answer in self._answers[request.path, request.query] if answer.at <= newest]
        return old_enough[-1] if old_enough else None

    def _disturbed(self, response: Response, effects: list[StreamEffect], life: int) -> Response:
        stages = [lines_of(aiter(response))]
        for effect in effects:
            stages.append(disturbed(stages[-1], effect, self._clock, self._entropy))
        stages.append(self._while_alive(stages[-1], life))

        async def close() -> None:
            for stage in reversed(stages):
                await stage.aclose()
            await response.close()

        return Response(response.status, response.headers, stages[-1], close)

    async def _while_alive(self, lines: Lines, life: int) -> Lines:
        async for line in lines:
            self.process.check(life)
            yield line


async def _once(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


async def _emptied(answer: Response) -> Response:
    body = await answer.read()
    if answer.status == 200:
        told = msgspec.json.decode(body)
        metadata = {"resourceVersion": told["metadata"]["resourceVersion"]}
        body = msgspec.json.encode({**told, "metadata": metadata, "items": []})
    return Response(answer.status, answer.headers, _once(body))


async def _hang(request: Request) -> Never:
    try:
        async with asyncio.timeout(request.timeout_seconds):
            await asyncio.get_running_loop().create_future()
    except TimeoutError:
        pass
    raise ConnectionFailed(f"injected: no answer to {request.method} {request.path} in {request.timeout_seconds} s")


def _error_answer(answer: Answer) -> Response:
    details: dict[str, Any] = {}
    headers = {"content-type": "application/json"}
    if answer.retry_after_seconds:
        headers["retry-after"] = str(answer.retry_after_seconds)
        details["retryAfterSeconds"] = answer.retry_after_seconds
    if answer.cause:
        details["causes"] = [{"reason": answer.cause, "message": answer.message}]
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": answer.message,
        "reason": answer.reason,
        "code": answer.status,
        "details": details,
    }
    return Response(answer.status, headers, _once(msgspec.json.encode(status)))

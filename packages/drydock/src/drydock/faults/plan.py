"""Which faults hit which calls."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from drydock.faults.effects import Effect, EmptyList, StaleRead, StreamEffect
from hawser.clock import Entropy
from hawser.transport import Request

_READING = frozenset({"GET", "HEAD"})
_ASKING = re.compile(r"/(tokenreviews|[a-z]*subject[a-z]*reviews)$")


@dataclass(frozen=True, slots=True)
class Rule:
    """An effect and the calls it hits: those that fit every condition that is set."""

    effect: Effect
    name: str = ""  # in records; by default the effect's
    methods: frozenset[str] = frozenset()
    path: str = ""  # a regular expression, found anywhere in the path
    resource: str = ""  # the plural, also for its subresources
    watch: bool | None = None
    nth: frozenset[int] = frozenset()  # only these of the calls that fit, counted from 1
    probability: float = 1.0
    since_seconds: float = 0.0  # from when the transport was made
    until_seconds: float = inf
    times: int | None = None  # then it is used up

    @property
    def label(self) -> str:
        return self.name or type(self.effect).__name__

    def fits(self, request: Request) -> bool:
        """Whether the request is of the kind this rule is about, chance, count and time aside."""
        watching = is_watch(request)
        if isinstance(self.effect, StreamEffect) and not watching:
            return False
        if isinstance(self.effect, StaleRead) and (watching or request.method != "GET"):
            return False
        if isinstance(self.effect, EmptyList) and (watching or not is_collection(request)):
            return False
        if self.watch is not None and self.watch != watching:
            return False
        if self.methods and request.method not in self.methods:
            return False
        if self.resource and self.resource != resource_of(request.path):
            return False
        return not self.path or re.search(self.path, request.path) is not None


class Plan:
    """Rules, and how often each has fitted and fired. One plan serves one run."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._fitted = [0] * len(self.rules)
        self._fired = [0] * len(self.rules)

    def firing(self, request: Request, age_seconds: float, entropy: Entropy) -> list[Rule]:
        """The rules that hit this call, in the plan's order."""
        firing = []
        for index, rule in enumerate(self.rules):
            if not rule.fits(request) or not rule.since_seconds <= age_seconds < rule.until_seconds:
                continue
            self._fitted[index] += 1
            if rule.nth and self._fitted[index] not in rule.nth:
                continue
            if rule.times is not None and self._fired[index] >= rule.times:
                continue
            if rule.probability < 1.0 and entropy.fraction() >= rule.probability:
                continue
            self._fired[index] += 1
            firing.append(rule)
        return firing


def is_watch(request: Request) -> bool:
    """Whether the answer is a stream of events."""
    return request.method == "GET" and any(key == "watch" and value in ("1", "true") for key, value in request.query)


def is_collection(request: Request) -> bool:
    """Whether all objects of a kind are read, not one of them."""
    return request.method == "GET" and request.path.rpartition("/")[2] == resource_of(request.path)


def is_mutation(request: Request) -> bool:
    """Whether the request can change what is stored: not a read, a dry run or a review."""
    if request.method in _READING or any(key == "dryRun" for key, _ in request.query):
        return False
    return _ASKING.search(request.path) is None


def resource_of(path: str) -> str:
    """The plural that a path is about: `pods` for /api/v1/namespaces/a/pods/b/eviction; empty when there is none."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:] if parts[0] == "apis" else []
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    return rest[0] if rest else ""

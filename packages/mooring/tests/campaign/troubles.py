"""What can happen to a run: a list of troubles, chosen by a seed, each with its begin and its end."""

from collections.abc import Iterable
from dataclasses import dataclass

from drydock.faults import (
    Answer,
    ArriveLate,
    Crash,
    CutStream,
    Delay,
    Duplicate,
    Effect,
    EmptyList,
    FailStream,
    Hang,
    LagEvents,
    LoseAnswer,
    Refuse,
    RepeatEvents,
    ReplayOldEvents,
    Rule,
    SilenceStream,
    StaleRead,
)
from hawser.clock import Entropy

REPLICAS = ("a", "b", "c")
STORM_SECONDS = 150.0
_WRITES = frozenset({"POST", "PATCH", "DELETE", "PUT"})


@dataclass(frozen=True, slots=True)
class Trouble:
    """From second `at`, for so many seconds; `size` is a second number that some kinds need."""

    kind: str
    at: float
    seconds: float = 0.0
    who: str = ""
    size: float = 0.0

    @property
    def until(self) -> float:
        return self.at + self.seconds


_LINK: dict[str, tuple[Effect, frozenset[str], bool | None, float]] = {
    # the network between a replica and the API server: effect, methods, watches or not, probability
    "api-refused": (Refuse(), frozenset(), None, 1.0),
    "api-packets-lost": (Hang(), frozenset(), False, 1.0),
    "api-answers-lost": (LoseAnswer(), _WRITES, False, 0.6),
    "api-hangs-after-effect": (Hang(after_effect=True), _WRITES, False, 0.5),
    "api-429": (Answer(429, "TooManyRequests", retry_after_seconds=2), frozenset(), None, 0.5),
    "api-500": (Answer(500, "InternalError"), _WRITES, False, 0.5),
    "api-500-after-effect": (Answer(500, "InternalError", after_effect=True), _WRITES, False, 0.5),
    "api-504-after-effect": (Answer(504, "Timeout", after_effect=True), _WRITES, False, 0.5),
    "api-duplicates": (Duplicate(), _WRITES, False, 0.5),
    "api-arrives-late": (ArriveLate(0.5, 30.0), _WRITES, False, 0.3),
    "api-empty-lists": (EmptyList(), frozenset(), False, 0.5),
    "api-slow": (Delay(0.1, 5.0), frozenset(), False, 0.5),
    "api-older-reads": (StaleRead(5.0), frozenset(), False, 0.5),
    "watch-lags": (LagEvents(20.0), frozenset(), True, 1.0),
    "watch-cut": (CutStream(after_events=2, how="inside"), frozenset(), True, 0.7),
    "watch-compacted": (FailStream(after_events=2), frozenset(), True, 0.7),
    "watch-silent": (SilenceStream(after_events=3), frozenset(), True, 0.5),
    "watch-repeats": (RepeatEvents(0.5), frozenset(), True, 1.0),
    "watch-goes-back": (ReplayOldEvents(0.5), frozenset(), True, 1.0),
    "dies-before-a-call": (Crash("before"), frozenset(), False, 0.05),
    "dies-after-a-write": (Crash("after"), _WRITES, False, 0.3),
}
LEDGER = ("ledger-cut", "ledger-answers-lost", "ledger-deaf", "dies-before-a-statement", "dies-after-a-statement")
PROCESS = ("kill", "stop", "clock-jump")
DEATHS = frozenset({"dies-before-a-call", "dies-after-a-write", "dies-before-a-statement", "dies-after-a-statement"})
NODE = ("node-cordoned", "node-drained", "node-replaced", "node-renewed", "node-lost", "node-flaps")
SHARED = (
    *NODE,
    *("ledger-restart", "ledger-failover", "ledger-restored", "api-server-older", "history-compacted"),
    *("workers-unreachable", "pod-deleted", "pool-resized", "dataset-changed", "service-changed"),
)
KINDS = (*_LINK, *LEDGER, *PROCESS, *SHARED)


def choose(seed: int) -> tuple[Trouble, ...]:
    """Three to eight troubles that may overlap; all end with the storm."""
    chance = Entropy(seed)
    found = []
    for _ in range(3 + chance.below(6)):
        kind = KINDS[chance.below(len(KINDS))]
        at = round(chance.between(10, STORM_SECONDS - 10), 1)
        seconds = round(min(chance.between(5, 60), STORM_SECONDS - at), 1)
        who = "" if kind in SHARED else REPLICAS[chance.below(len(REPLICAS))]
        size = float([-3600, -60, 60, 3600][chance.below(4)]) if kind == "clock-jump" else float(chance.below(4))
        found.append(Trouble(kind, at, seconds, who, size))
    return tuple(sorted(found, key=lambda one: one.at))


def rules_for(troubles: Iterable[Trouble], who: str, now: float) -> list[Rule]:
    """The rules of a transport that is made now."""
    rules = []
    for one in troubles:
        if one.who == who and one.kind in _LINK and one.until > now:
            effect, methods, watch, probability = _LINK[one.kind]
            since, until = max(one.at - now, 0.0), one.until - now
            rules.append(
                Rule(
                    effect,
                    name=one.kind,
                    methods=methods,
                    watch=watch,
                    probability=probability,
                    since_seconds=since,
                    until_seconds=until,
                )
            )
    return rules

"""What must hold in every history. Each rule answers its violations, as sentences."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

from packages.testing.judge.history import Event, History

_SLACK_SECONDS = 1.0
_RETURN_SECONDS = 30.0  # of a release that no trouble disturbs: it takes the stamp away itself
_AFTERMATH_SECONDS = 60.0  # a trouble is felt so long after its end, by caches and by replicas that start again
_HEALED_SECONDS = 500.0  # after the last trouble: a grace of 300 s, two looks 60 s apart, and room for a new leader


@dataclass(frozen=True)
class _Hold:
    """From when to when a client used a worker, as far as it knew."""

    claim: str
    pod: str
    epoch: int
    since: float
    until: float

    def overlaps(self, other: "_Hold") -> bool:
        return self.since < other.until and other.since < self.until

    def covers(self, at: float) -> bool:
        return self.since < at < self.until


def _holds(history: History) -> list[_Hold]:
    begun: dict[str, Event] = {}
    ended: list[_Hold] = []
    for event in history.of("told", "gives-back", "lost"):
        claim = event.get("claim", "")
        if event["event"] == "told" and claim:
            begun.setdefault(claim, event)
        elif event["event"] != "told" and claim in begun:
            first = begun.pop(claim)
            ended.append(_Hold(claim, first["pod"], first["epoch"], first["at"], event["at"]))
    ended += [_Hold(claim, one["pod"], one["epoch"], one["at"], inf) for claim, one in begun.items()]
    return ended


@dataclass(frozen=True)
class _Losses:
    """Spans of time of which a store knows nothing any more."""

    spans: tuple[tuple[float, float], ...]

    def cover(self, at: float) -> bool:
        return any(since <= at <= until for since, until in self.spans)


def _losses(history: History, what: str) -> _Losses:
    return _Losses(tuple((one["since"], one["at"]) for one in history.of("rewound") if one["what"] == what))


def no_worker_is_held_twice(history: History) -> Iterator[str]:
    """Two clients never use one worker at the same time."""
    by_pod: dict[str, list[_Hold]] = defaultdict(list)
    for hold in _holds(history):
        for other in by_pod[hold.pod]:
            if hold.claim != other.claim and hold.overlaps(other):
                yield f"{hold.pod} is held by {other.claim} and {hold.claim} at {max(hold.since, other.since)}"
        by_pod[hold.pod].append(hold)


def epochs_rise(history: History) -> Iterator[str]:
    """Every claim has an epoch of its own, and on one worker a later claim has a higher one."""
    claims: dict[int, str] = {}
    highest: dict[str, int] = {}
    for hold in sorted(_holds(history), key=lambda hold: hold.since):
        if claims.setdefault(hold.epoch, hold.claim) != hold.claim:
            yield f"epoch {hold.epoch} is that of {claims[hold.epoch]} and of {hold.claim}"
        if hold.epoch <= highest.get(hold.pod, 0):
            yield f"epoch {hold.epoch} on {hold.pod} came after {highest[hold.pod]}"
        highest[hold.pod] = max(hold.epoch, highest.get(hold.pod, 0))


def one_leader_at_a_time(history: History) -> Iterator[str]:
    """Nobody leads while another does, and terms rise, as long as the ledger loses none."""
    leading: dict[str, int] = {}
    highest = 0
    for event in history.of("leads", "rewound"):
        if event["event"] == "rewound":
            highest = 0 if event["what"] == "ledger" else highest
            continue
        who, term = event["who"], event["term"]
        leading.pop(who, None)
        if not term:
            continue
        if leading:
            yield f"{who} leads at {event['at']}, and so does {', '.join(leading)}"
        if term < highest:
            yield f"{who} leads under term {term} at {event['at']}, after {highest}"
        leading[who], highest = term, max(highest, term)


def no_held_worker_is_deleted(history: History) -> Iterator[str]:
    """No replica deletes or evicts a pod that a client uses, unless the test took that pod away before."""
    taken = {event["uid"]: event["at"] for event in reversed(list(history.of("taken")))}
    holds = _holds(history)
    for event in history.of("api"):
        if not _removes_a_pod(event) or taken.get(event["uid"], inf) <= event["at"]:
            continue
        for hold in holds:
            if hold.pod == event["uid"] and hold.covers(event["at"]):
                yield f"{event['who']} deleted {hold.pod} at {event['at']} while {hold.claim} held it"


def deletes_are_fenced_and_recorded(history: History) -> Iterator[str]:
    """Each names the object as it was seen, and has an audit row from before, unless the ledger lost it."""
    lost = _losses(history, "ledger")
    rows: dict[str, float] = {}
    for event in history.of("row"):
        rows.setdefault(event["uid"], event["at"])
    for event in history.of("api"):
        if event["method"] == "DELETE" and not event["fenced"]:
            yield f"{event['who']} sent an unfenced DELETE {event['path']} at {event['at']}"
        if _removes_a_pod(event) and rows.get(event["uid"], inf) > event["at"] and not lost.cover(event["at"]):
            yield f"{event['who']} deleted {event['uid']} at {event['at']} without an audit row before"


def accepted_jobs_run_once(history: History) -> Iterator[str]:
    """Every step of an accepted submission runs as one Job, unless the cluster lost one of the two."""
    lost, forgotten = _losses(history, "cluster"), set[str]()
    for event in history.of("accepted", "ran"):
        if lost.cover(event["at"]):
            forgotten.add(event["submission"])
    jobs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for event in history.of("ran"):
        jobs[event["submission"], event["step"]].add(event["job"])
    for (submission, step), ran in sorted(jobs.items()):
        if len(ran) > 1 and submission not in forgotten:
            yield f"step {step} of {submission} ran as {len(ran)} Jobs"
    begun = {submission for submission, _ in jobs}
    for event in history.of("accepted"):
        if event["submission"] not in begun | forgotten:
            yield f"submission {event['submission']} was accepted and never ran"


def answers_are_true(history: History) -> Iterator[str]:
    """A key is one claim; a worker that was told existed; a wait that is over has lasted; who beats keeps its claim."""
    keys: dict[str, tuple[str, int, str]] = {}
    lost, lives = _losses(history, "ledger"), _lives(history)
    asked: dict[str, float] = {}
    for event in history.of("ask"):
        asked.setdefault(event["key"], event["at"])
    for event in history.of("told"):
        waited = event["at"] - asked.get(event["key"], -inf)
        if event.get("code") == "wait_timed_out" and waited < event["wait"] - _SLACK_SECONDS:
            yield f"a wait of {event['wait']} s was over after {waited:.0f} s"
        if not event.get("claim"):
            continue
        told = (event["claim"], event["epoch"], event["pod"])
        if keys.setdefault(event["key"], told)[0] != told[0]:
            yield f"key {event['key']} is claim {keys[event['key']][0]} and claim {told[0]}"
        if lost.cover(event["at"]):
            del keys[event["key"]]
        if not any(since <= event["at"] and until >= event["asked_at"] for since, until in lives[event["pod"]]):
            yield f"claim {told[0]} was told at {event['at']} to be on {event['pod']}, which did not exist"
    yield from _beaten_and_lost(history)


def _lives(history: History) -> dict[str, list[tuple[float, float]]]:
    """From when to when each pod was there; after a loss it may come back."""
    lives: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event in history.of("pod"):
        if event["there"]:
            lives[event["uid"]].append((event["at"], inf))
        elif lives[event["uid"]]:
            lives[event["uid"]][-1] = (lives[event["uid"]][-1][0], event["at"])
    return lives


def _beaten_and_lost(history: History) -> Iterator[str]:
    taken = {event["uid"] for event in history.of("taken")}
    lost = _losses(history, "ledger")
    forgotten = {event["claim"] for event in history.of("told") if event.get("claim") and lost.cover(event["at"])}
    beaten: dict[str, Event] = {}
    for event in history.of("beat", "lost"):
        if event["event"] == "beat":
            beaten[event["claim"]] = event
            continue
        last = beaten.get(event["claim"])
        if last is None or event["pod"] in taken or event["claim"] in forgotten:
            continue
        if event["at"] - last["at"] < last["ttl"]:
            yield f"claim {event['claim']} was lost at {event['at']}, and its holder had beaten at {last['at']}"


def released_workers_come_back(history: History) -> Iterator[str]:
    """Its stamp goes, or the worker does, at once or when the trouble is over; and then all can be claimed again."""
    troubles = [(event["at"], event["until"] + _AFTERMATH_SECONDS) for event in history.of("trouble")]
    last = max((until for _, until in troubles), default=0.0)
    named, end = _named(history), max((event["at"] for event in history.events), default=0.0)
    for event in history.of("released"):
        at = event["at"]
        disturbed = any(since <= at + _RETURN_SECONDS and until >= at for since, until in troubles)
        deadline = max(at, last) + _HEALED_SECONDS if disturbed else at + _RETURN_SECONDS
        latest = [claim for since, claim in named[event["pod"]] if since <= deadline][-1:]
        if latest == [event["claim"]] and end > deadline:
            yield f"{event['pod']} was released by {event['claim']} at {at} and did not come back until {deadline}"
    for event in history.of("served"):
        if event["got"] != event["wanted"]:
            yield f"{event['who']} gave out {event['got']} workers of {event['wanted']} that were idle"


def _named(history: History) -> dict[str, list[tuple[float, str]]]:
    """Since when each pod names which claim: none if it is gone, or if it was never seen with one."""
    named: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for event in history.of("stamp", "pod"):
        if event["event"] == "stamp" or not event["there"]:
            named[event["uid"]].append((event["at"], event.get("claim", "")))
    return named


def everything_settles(history: History) -> Iterator[str]:
    """At the end the floor stands, nothing is stamped or held, all submissions ended, and nobody writes."""
    found = list(history.of("settled"))
    if not found:
        yield "the run did not settle"
    for event in found:
        if event["idle"] != event["wanted"]:
            yield f"{event['idle']} workers are idle, {event['wanted']} are wanted"
        for what in ("stamped", "live", "unfinished"):
            if event[what]:
                yield f"{what} at the end: {event[what]}"
    for event in history.of("quiet"):
        if event["writes"]:
            yield f"{event['writes']} writes after everything had settled"


def _removes_a_pod(event: Event) -> bool:
    parts = event["path"].split("/")
    is_delete = event["method"] == "DELETE" and parts[-2] == "pods"
    return is_delete or (event["method"] == "POST" and parts[-1] == "eviction")


RULES: tuple[Callable[[History], Iterator[str]], ...] = (
    no_worker_is_held_twice,
    epochs_rise,
    one_leader_at_a_time,
    no_held_worker_is_deleted,
    deletes_are_fenced_and_recorded,
    accepted_jobs_run_once,
    answers_are_true,
    released_workers_come_back,
    everything_settles,
)


def judge(history: History) -> list[str]:
    """All violations, each with the name of its rule; empty if there is none."""
    return [f"{rule.__name__}: {violation}" for rule in RULES for violation in rule(history)]

"""The judge, by histories that are written by hand: each rule finds its violation, and nothing in a good history."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from packages.testing import judge as package
from packages.testing.judge import History, judge, read_history

SETTLED = (300.0, "settled", {"wanted": 3, "idle": 3, "stamped": [], "live": [], "unfinished": []})


def told(at: float, claim: str, epoch: int, pod: str = "p", **fields: Any) -> tuple[float, str, dict[str, Any]]:
    about = {"op": "claim", "key": f"key-{claim}", "asked_at": at - 1, "wait": 10}
    return at, "told", {**about, "claim": claim, "epoch": epoch, "pod": pod, **fields}


def back(at: float, claim: str, pod: str = "p") -> tuple[float, str, dict[str, Any]]:
    return at, "gives-back", {"claim": claim, "pod": pod}


def delete(at: float, uid: str = "p", *, fenced: bool = True) -> tuple[float, str, dict[str, Any]]:
    path = "/api/v1/namespaces/n/pods/x"
    return at, "api", {"who": "a", "method": "DELETE", "path": path, "uid": uid, "fenced": fenced}


def row(at: float, uid: str = "p") -> tuple[float, str, dict[str, Any]]:
    return at, "row", {"uid": uid, "action": "delete", "outcome": "done"}


POD = (0.0, "pod", {"uid": "p", "name": "x", "there": True})
OTHER = (0.0, "pod", {"uid": "q", "name": "y", "there": True})
GOOD = (POD, told(2, "one", 1), back(9, "one"), told(12, "two", 2), back(20, "two"), row(21), delete(22), SETTLED)
LEADS = [(1.0, "leads", {"who": "a", "term": 1}), (2.0, "leads", {"who": "b", "term": 2})]
RAN = [(5.0, "ran", {"submission": "s", "step": "one", "job": job}) for job in ("j", "k")]
BEATEN = [(5.0, "beat", {"claim": "one", "ttl": 60}), (9.0, "lost", {"claim": "one", "pod": "p"})]
OVER = [
    (1.0, "ask", {"op": "claim", "key": "k", "wait": 10}),
    (5.0, "told", {"op": "claim", "key": "k", "asked_at": 1.0, "wait": 10, "code": "wait_timed_out"}),
]
STAYS = [
    *((1.0, "stamp", {"uid": "p", "claim": "one"}), told(2, "one", 1), back(9, "one")),
    (10.0, "released", {"claim": "one", "pod": "p"}),
]
LATE = (700.0, "quiet", {"writes": 0})
BAD: list[tuple[str, list[Any]]] = [
    ("no_worker_is_held_twice", [told(2, "one", 1), told(5, "two", 2), back(9, "one"), back(10, "two")]),
    ("epochs_rise", [told(2, "one", 5), back(3, "one"), told(5, "two", 4), back(6, "two")]),
    ("epochs_rise", [told(2, "one", 5), back(3, "one"), OTHER, told(5, "two", 5, "q"), back(6, "two", "q")]),
    ("one_leader_at_a_time", LEADS),
    ("no_held_worker_is_deleted", [told(2, "one", 1), row(3), delete(5), back(9, "one")]),
    ("deletes_are_fenced_and_recorded", [row(3), delete(5, fenced=False)]),
    ("deletes_are_fenced_and_recorded", [delete(5), row(6)]),
    ("accepted_jobs_run_once", RAN),
    ("accepted_jobs_run_once", [(5.0, "accepted", {"submission": "s"})]),
    ("answers_are_true", [told(2, "one", 1, key="k"), back(3, "one"), told(5, "two", 2, key="k"), back(6, "two")]),
    ("answers_are_true", [told(2, "one", 1, "nobody"), back(3, "one", "nobody")]),
    ("answers_are_true", [told(2, "one", 1), *BEATEN]),
    ("answers_are_true", OVER),
    ("released_workers_come_back", STAYS),
    ("released_workers_come_back", [*STAYS, (300.0, "stamp", {"uid": "p", "claim": ""})]),
    ("released_workers_come_back", [*STAYS, (5.0, "trouble", {"kind": "kill", "until": 20.0}), LATE]),
    ("released_workers_come_back", [(200.0, "served", {"who": "a", "wanted": 3, "got": 2})]),
    ("everything_settles", [(310.0, "quiet", {"writes": 3})]),
]


def history_of(events: Any) -> History:
    found = History()
    for at, event, fields in events:
        found.note(at, event, **fields)
    return found


def test_a_good_history_has_no_violation() -> None:
    assert judge(history_of(GOOD)) == []


@pytest.mark.parametrize(("rule", "events"), BAD, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(BAD)])
def test_each_violation_is_found_by_its_rule(rule: str, events: list[Any]) -> None:
    found = judge(history_of([POD, *events, SETTLED]))
    assert found and {violation.split(":")[0] for violation in found} == {rule}


RETURNS = {
    "at once": [(11.0, "stamp", {"uid": "p", "claim": ""})],
    "to the next in the queue": [(12.0, "stamp", {"uid": "p", "claim": "two"})],
    "before the release is answered": [(9.5, "stamp", {"uid": "p", "claim": ""})],
    "as a pod that is gone": [(20.0, "pod", {"uid": "p", "name": "x", "there": False})],
    "healed after a trouble": [
        (15.0, "trouble", {"kind": "kill", "until": 20.0}),
        (480.0, "stamp", {"uid": "p", "claim": ""}),
    ],
}


@pytest.mark.parametrize("events", RETURNS.values(), ids=RETURNS)
def test_a_released_worker_comes_back(events: list[Any]) -> None:
    assert judge(history_of([POD, *STAYS, *events, SETTLED, LATE])) == []


def rewound(since: float, at: float, what: str) -> tuple[float, str, dict[str, Any]]:
    return at, "rewound", {"what": what, "since": since}


LEDGER_LOST = rewound(1.0, 9.5, "ledger")
CLUSTER_LOST = rewound(4.0, 9.5, "cluster")
FORGIVEN = [
    [told(2, "one", 1, key="k"), back(3, "one"), LEDGER_LOST, told(15, "two", 2, key="k"), back(16, "two")],
    [told(2, "one", 1), *BEATEN, LEDGER_LOST],
    [delete(5), LEDGER_LOST],
    [*RAN, CLUSTER_LOST],
    [(5.0, "accepted", {"submission": "s"}), CLUSTER_LOST],
]


@pytest.mark.parametrize("events", FORGIVEN)
def test_what_a_store_has_lost_is_not_held_against_the_product(events: list[Any]) -> None:
    assert judge(history_of([POD, *events, SETTLED])) == []
    others = [event for event in events if event[1] != "rewound"]
    assert judge(history_of([POD, *others, SETTLED])) != []


NEVER_FORGIVEN = [
    [told(2, "one", 1), told(5, "two", 2), back(9, "one"), back(10, "two")],
    [told(2, "one", 5), back(3, "one"), told(15, "two", 4), back(16, "two")],
    [told(2, "one", 1), row(3), delete(5), back(9, "one")],
]


@pytest.mark.parametrize("events", NEVER_FORGIVEN, ids=["held twice", "epochs fall", "held and deleted"])
def test_a_loss_excuses_neither_two_holders_nor_a_deleted_worker(events: list[Any]) -> None:
    assert judge(history_of([POD, *events, LEDGER_LOST, CLUSTER_LOST, SETTLED])) != []


def test_a_pod_that_comes_back_with_an_older_cluster_is_there() -> None:
    lives = [POD, (3.0, "pod", {"uid": "p", "there": False}), (6.0, "pod", {"uid": "p", "there": True})]
    assert judge(history_of([*lives, told(8, "one", 1), back(9, "one"), SETTLED])) == []
    assert judge(history_of([*lives[:2], told(8, "one", 1), back(9, "one"), SETTLED])) != []


def test_a_run_that_does_not_settle_is_a_violation() -> None:
    assert judge(history_of([])) == ["everything_settles: the run did not settle"]


def test_a_history_survives_its_file(tmp_path: Path) -> None:
    history_of(GOOD).write(tmp_path / "history.jsonl")
    assert read_history(tmp_path / "history.jsonl").events == history_of(GOOD).events


def test_the_judge_imports_nothing_but_the_standard_library() -> None:
    folder = Path(next(iter(package.__path__)))
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names or name.startswith("packages.testing.judge")

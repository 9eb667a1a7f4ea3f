"""The page of warmups: shards over nodes, the evidence of a failure, and what a person may ask for."""

from datetime import timedelta
from typing import Any

import msgspec

from mooring.dashboard.views import Selection, render
from mooring.dashboard.warmup_views import WarmupsPage, read_warmups
from mooring.model.evidence import Failure
from mooring.model.warmup import Circuit, Release, ShardStatus, TerminalFailure, Warmup, WarmupSpec, WarmupStatus
from mooring.planning.explanations.warmups import explain_warmup
from mooring.queries.warmups import WarmupReading
from packages.mooring.tests.pages.readings import NOON

HOSTILE = "<script>alert(1)</script>"


def warmup(name: str = "core", **status: Any) -> WarmupReading:
    spec = WarmupSpec(dataset="core_nt", shards=2)
    told = WarmupStatus(**{"phase": "Warming", "reason": "1 of 2 shards are warm", "nodes_total": 2, **status})
    return WarmupReading(
        namespace="search",
        name=name,
        uid=f"uid-of-{name}",
        spec=spec,
        status=told,
        generation=1,
        terminating=False,
        created_at=NOON,
        warm_nodes=(),
        rewarm_pending=False,
        why=explain_warmup(Warmup("search", name, "uid", 1, NOON, spec, told)),
    )


def show(*warmups: WarmupReading) -> str:
    page = WarmupsPage(warmups, len(warmups))
    return render("_warmups.html", page=page, selection=Selection(), may=lambda *_: True)


def test_each_shard_is_shown_with_its_node_and_state():
    shards = (
        ShardStatus(0, "work-01", "u1", "warm-core-00", "done", 1.0, "1"),
        ShardStatus(1, "work-02", "u2", "warm-core-01", "fetching", 0.5),
    )
    html = show(warmup(shards=shards, nodes_ready=1))
    assert "1 of 2 warm" in html
    assert 'value="1.5"' in html
    assert "shard 0 on work-01: done" in html
    assert "shard 1 on work-02: fetching" in html


def test_a_failure_comes_with_its_log_lines():
    failure = Failure("warm-core-00-x", "fetch", 5, 1, ("HTTP 403 Forbidden", HOSTILE), "BackOff")
    html = show(warmup(phase="Failed", failure=failure))
    assert "5 restarts" in html
    assert "HTTP 403 Forbidden" in html
    assert "<script" not in html


def test_a_failure_without_a_pod_is_told_by_its_reason():
    html = show(warmup(phase="Failed", failure=Failure(reason="its Job is refused: spec.env")))
    assert '<p class="wrong">its Job is refused: spec.env</p>' in html and "last lines of" not in html


def test_an_open_circuit_can_be_closed_and_a_closed_one_cannot():
    failures = (TerminalFailure("warm-core-00", "u", NOON, "DeadlineExceeded"),)
    opened = Circuit("open", failures, NOON, NOON + timedelta(minutes=30))
    assert "/actions/warmups/search/core/close-circuit" in show(warmup(circuit=opened))
    assert "close-circuit" not in show(warmup(circuit=msgspec.structs.replace(opened, state="closed")))


def test_what_was_released_is_told_with_its_errors():
    release = Release("partial", "core_nt", "search", ("a", "b"), ("c",), ("warm-core-03: forbidden",), NOON)
    html = show(warmup(phase="Stale", release=release))
    assert "partial, 2 deleted, 1 kept; warm-core-03: forbidden" in html


def test_without_a_warmup_the_page_says_how_to_make_one():
    assert "kubectl apply -f warmup.yaml" in show()


class Kept:
    """A read side with these warmups."""

    def __init__(self, *warmups: WarmupReading) -> None:
        self._warmups = list(warmups)

    def warmups(self) -> list[WarmupReading]:
        return self._warmups


def test_the_url_chooses_by_phase_and_by_text():
    kept: Any = Kept(warmup("core"), warmup("nr", phase="Ready", reason="all shards are warm"))
    assert [one.name for one in read_warmups(kept, Selection(state="Ready")).warmups] == ["nr"]
    assert [one.name for one in read_warmups(kept, Selection(q="1 OF 2")).warmups] == ["core"]
    assert read_warmups(kept, Selection(q="absent")).total == 2

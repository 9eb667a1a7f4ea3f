"""The map as data: which boxes there are, what is in them, and what thousands of workers cost."""

import gzip
import re
import time
from datetime import timedelta

import pytest

from mooring.dashboard.shapes import COLUMNS, SHAPES
from mooring.dashboard.tiles import plan_tiles, render_tile
from mooring.model.worker import WorkerState
from packages.mooring.tests.pages.readings import NOON, node, worker

HOSTILE = "<script>alert('x')</script>&\"'"


def test_work_comes_before_the_system_and_the_homeless_before_all():
    nodes = [node("system-1", system=True), node("work-02"), node("work-01")]
    tiles = plan_tiles(nodes, [worker("a", node=""), worker("b", node="work-02")])
    assert [tile.title for tile in tiles] == ["No node yet", "work-01", "work-02", "system-1"]


def test_a_worker_whose_node_is_gone_is_not_lost_from_the_map():
    tiles = plan_tiles([node("work-01")], [worker("a", node="gone")])
    assert [found.name for found in tiles[0].workers] == ["a"]
    assert (tiles[0].title, tiles[0].note) == ("No node", "1 whose node is gone")
    both = plan_tiles([node("work-01")], [worker("a", node="gone"), worker("b", node="")])
    assert both[0].note == "1 waiting, 1 whose node is gone"


def test_without_homeless_workers_there_is_no_box_for_them():
    assert [tile.node for tile in plan_tiles([node("work-01")], [])] == ["work-01"]


def test_no_node_can_take_the_place_of_the_box_for_the_homeless():
    tiles = plan_tiles([node("unplaced")], [worker("a", node="")])
    assert len({tile.id for tile in tiles}) == 2


@pytest.mark.parametrize(
    ("changes", "kind", "note"),
    [
        ({}, "open", "1 worker"),
        ({"draining": "cordoned"}, "draining", "cordoned since 12:00Z"),
        ({"ready": False, "draining": "cordoned"}, "notready", "not Ready since 12:00Z"),
        ({"system": True}, "system", "system node"),
    ],
)
def test_a_box_says_what_is_special_about_its_node(changes: dict[str, object], kind: str, note: str):
    tile = plan_tiles([node("work-01", **changes)], [worker("a")])[0]
    assert (tile.kind, tile.note) == (kind, note)


def test_every_state_has_a_shape_of_its_own_but_claimed_looks_busy():
    assert set(WorkerState) <= SHAPES.keys()
    drawn = {state: SHAPES[state](0, 0) for state in (*WorkerState, "failing")}
    assert drawn.pop("claimed") == drawn["busy"]
    assert len(set(drawn.values())) == len(drawn)


def test_a_worker_that_fails_does_not_look_like_one_that_starts():
    starting, failing = worker("a", state="starting"), worker("b", state="starting", failing=True)
    busy = worker("c", state="busy", failing=True)
    html = render_tile(plan_tiles([node("work-01")], [starting, failing, busy])[0])
    assert re.findall(r'class="cell s-(\w+)"', html) == ["busy", "starting", "failing"]
    assert "1 busy, 1 failing, 1 starting" in html


def test_those_who_cannot_see_the_map_hear_it():
    workers = [worker("a"), worker("b"), worker("c", state="busy", protected=True)]
    html = render_tile(plan_tiles([node("work-01")], workers)[0])
    assert 'role="img"' in html and 'tabindex="0"' in html
    assert 'aria-label="work-01, 3 workers: 1 busy, 2 idle, 1 protected"' in html


def test_names_that_are_markup_stay_text():
    html = render_tile(plan_tiles([node(HOSTILE, draining=HOSTILE)], [worker("a", node=HOSTILE)])[0])
    assert "<script" not in html
    assert re.findall(r"<(\w+)", html) == ["article", "h3", "a", "p", "svg", "path"]


def test_a_box_grows_by_a_row_for_every_ten_workers():
    def height(workers: int) -> int:
        tile = plan_tiles([node("work-01")], [worker(f"w-{n}") for n in range(workers)])[0]
        found = re.search(r' height="(\d+)"', render_tile(tile))
        assert found is not None
        return int(found[1])

    assert height(0) == height(1) == height(COLUMNS)
    assert height(COLUMNS + 1) == 2 * height(COLUMNS)


def test_five_thousand_workers_are_drawn_in_milliseconds():
    nodes = [node(f"work-{number:03}") for number in range(100)]
    states = list(WorkerState)
    workers = [worker(f"w-{n}", node=f"work-{n % 100:03}", state=states[n % len(states)].value) for n in range(5000)]

    def draw() -> str:
        return "".join(render_tile(tile) for tile in plan_tiles(nodes, workers))

    measured = []
    for _ in range(5):
        started = time.perf_counter()
        html = draw()
        measured.append(time.perf_counter() - started)
    packed = len(gzip.compress(html.encode(), 6))
    print(f"5,000 workers: {min(measured) * 1000:.0f} ms, {len(html) / 1000:.0f} KB, {packed / 1000:.0f} KB compressed")
    assert min(measured) < 0.25
    assert len(html) < 250_000
    assert packed < 40_000


def test_a_node_tells_until_when_its_workers_can_hold_it():
    busy = worker("a", state="draining", protected=True, protected_until=NOON + timedelta(minutes=50))
    tile = plan_tiles([node("work-01", draining="the node is cordoned")], [busy, worker("b")])[0]
    assert tile.note == "the node is cordoned since 12:00Z, held until 12:50Z"


def test_a_box_leads_to_the_page_of_its_node():
    assert '<a href="/nodes/work-01">work-01</a>' in render_tile(plan_tiles([node("work-01")], [])[0])

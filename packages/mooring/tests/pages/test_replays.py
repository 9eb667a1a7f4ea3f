"""The player of replays: the run of `mooring replay`, on two maps with one clock."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from mooring.incidents.catalogue import INCIDENTS
from packages.mooring.tests.acceptance.browser import open_page
from packages.mooring.tests.acceptance.world import Up, run_command
from packages.mooring.tests.pages.test_accessibility import violations

pytestmark = pytest.mark.browser

REPLAY = "permission-lag"  # the shortest one
READY_MS = 240_000  # on a busy machine


def open_player(page: Page, up: Up, query: str = "") -> None:
    page.goto(f"{up.url}/replays/{REPLAY}{query}")
    page.wait_for_selector("#player[data-ready]", timeout=READY_MS)


@pytest.fixture
def player(browser: Browser, up: Up) -> Iterator[Page]:
    with open_page(browser, up.url, reduced_motion="reduce") as page:
        open_player(page, up)
        yield page


def seconds(page: Page) -> float:
    return float(page.input_value("#time"))


def test_every_replay_is_offered_and_in_the_menu(browser: Browser, up: Up):
    with open_page(browser, up.url) as page:
        page.click("nav.pages a[href='/replays']")
        page.wait_for_url("**/replays")
        offered = page.eval_on_selector_all("main h2 a", "all => all.map(link => link.getAttribute('href'))")
    assert offered == [f"/replays/{incident.name}" for incident in INCIDENTS]


def test_the_figures_are_those_of_the_command(player: Page, up: Up):
    printed = json.loads(run_command("replay", REPLAY, "-o", "json").out)[0]
    read = "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    rows = player.eval_on_selector_all("#figures tbody tr", read)
    shown = {name: (without, protected) for name, without, protected in rows}
    assert shown["outage"] == ("yes", "no")
    assert shown["shards warm"] == (str(printed["without"]["shardsWarm"]), str(printed["with"]["shardsWarm"]))
    assert shown["phase"] == (printed["without"]["phase"], printed["with"]["phase"])


def test_the_keys_step_from_event_to_event_and_the_maps_follow(player: Page):
    def cells(half: str) -> Any:
        read = "all => all.map(use => use.getAttribute('href'))"
        return player.eval_on_selector_all(f"#half-{half} .scene use", read)

    player.focus("#after")
    times = [seconds(player)]
    for _ in range(3):
        player.keyboard.press("Enter")
        times.append(seconds(player))
    assert all(earlier < later for earlier, later in pairwise(times))
    player.focus("#time")
    player.keyboard.press("End")
    assert player.text_content("#half-without .badge") == "outage"
    assert player.text_content("#half-with .badge") == "no outage"
    assert cells("with") == ["#shape-done"] * 10, "every shard is warm"
    assert "#shape-done" not in cells("without")
    player.keyboard.press("Home")
    assert cells("with") == [] and player.text_content("#half-with .badge") == ""
    assert player.get_attribute("#time", "aria-valuetext").startswith("0:00:00 of ")


@pytest.mark.parametrize("width", [390, 2560])
def test_nothing_is_wider_than_the_window(browser: Browser, up: Up, width: int):
    with open_page(browser, up.url, reduced_motion="reduce") as page:
        page.set_viewport_size({"width": width, "height": 844})
        open_player(page, up, "?t=100")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.goto(f"{up.url}/replays")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_about(browser: Browser, up: Up, scheme: str):
    with open_page(browser, up.url, reduced_motion="reduce", color_scheme=scheme) as page:
        open_player(page, up, "?t=100")
        assert violations(page) == []
        page.goto(f"{up.url}/replays")
        assert violations(page) == []


def test_another_name_is_not_there(up: Up):
    with up.http() as http:
        answer = http.get("/replays/drift-rol/recording.json")
    assert answer.status_code == 404 and "drift-roll" in answer.text

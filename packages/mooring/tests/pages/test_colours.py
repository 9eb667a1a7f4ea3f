"""The colours of the style sheet: every state can be told from its ground, in light and in dark."""

import re
from importlib.resources import files

import pytest

STATIC = files("mooring.dashboard") / "static"
CSS = (STATIC / "mooring.css").read_text()
PARTS = (STATIC / "parts.css").read_text()
STATES = ("idle", "busy", "starting", "draining", "degraded", "lost", "ok", "warn", "bad")
TEXTS = ("text", "quiet", "accent", "ok", "warn", "bad")
GROUNDS = ("ground", "raised", "sunken")
SOFT = ("ok", "warn", "bad", "accent")


def palette(selector: str) -> dict[str, str]:
    start = CSS.index(selector)
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", CSS[start : CSS.index("}", start)]))


LIGHT = palette(":root {")
DARK = palette(':root[data-theme="dark"] {')


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_measure_itself():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_a_state_stands_out_from_where_it_is_drawn(theme: dict[str, str], state: str):
    assert contrast(theme[state], theme["raised"]) >= 3.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_text_can_be_read(theme: dict[str, str], text: str, ground: str):
    assert contrast(theme[text], theme[ground]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("text", SOFT)
def test_text_on_its_own_soft_ground_can_be_read(theme: dict[str, str], text: str):
    assert contrast(theme[text], theme[f"{text}-soft"]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("number", range(8))
def test_the_colours_of_pools_and_owners_stand_out(theme: dict[str, str], number: int):
    assert contrast(theme[f"p{number}"], theme["raised"]) >= 3.0


@pytest.mark.parametrize("box", [".tile {", ".card {", ".pools {"])
def test_cells_are_drawn_on_raised_ground(box: str):
    start = PARTS.index(f"\n{box}")
    assert "background: var(--raised)" in PARTS[start : PARTS.index("}", start)]


def test_dark_is_the_same_whether_the_system_or_the_person_asks_for_it():
    assert palette("@media (prefers-color-scheme: dark)") == DARK
    assert DARK.keys() == LIGHT.keys()

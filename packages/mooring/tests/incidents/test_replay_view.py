"""What people see while a replay runs."""

import io

import pytest
from rich.console import Console

from mooring.cli.launch.replay_view import Lines, LiveView, Silence, choose_view
from mooring.incidents.replay import run_replay
from packages.mooring.tests.incidents.plays import Small


def _play(view) -> None:
    with view:
        run_replay(Small(), only_unprotected=False, seed=1, seat=view.seat)


def test_a_terminal_shows_the_virtual_clock_the_figures_and_the_events():
    screen = io.StringIO()
    _play(LiveView(Console(file=screen, force_terminal=True, width=100, color_system=None)))
    shown = screen.getvalue()
    assert "12:01:05Z  +00:01:05" in shown
    assert "seconds" in shown and "it begins" in shown
    assert "(without protection)" in shown and "(with protection)" in shown


def test_hostile_text_cannot_style_the_terminal():
    class Hostile(Small):
        title = "[blink]x[/blink]"

        async def play(self, stage, protected):
            stage.narrate("[bold]not markup[/bold]")
            return await super().play(stage, protected)

    screen = io.StringIO()
    with LiveView(Console(file=screen, force_terminal=True, width=100, color_system=None)) as view:
        run_replay(Hostile(), only_unprotected=True, seed=1, seat=view.seat)
    assert "[bold]not markup[/bold]" in screen.getvalue()
    assert "[blink]x[/blink]" in screen.getvalue()


@pytest.mark.parametrize(("lines", "kind"), [(True, Lines), (False, Silence)])
def test_elsewhere_the_story_is_told_in_lines_or_not_at_all(capsys, lines, kind):
    view = choose_view(lines=lines)
    assert type(view) is kind
    _play(view)
    told = capsys.readouterr().err
    assert ("[small without +00:00:00] it begins" in told) is lines

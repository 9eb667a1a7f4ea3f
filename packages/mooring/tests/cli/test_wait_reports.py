"""While a claim waits: one line on a terminal, lines about changes elsewhere."""

import sys

import pytest

from mooring.cli.remote.wait_reports import WaitReports, describe_wait
from mooring.client.records import Waiting
from mooring.model.why import Why

WHY = Why("waiting", "no worker is free", blockers=("8 busy of 8", "node work-01 drains"))


def test_the_line_has_place_time_and_what_holds_it_up():
    assert describe_wait(Waiting(2, 65.0, WHY), 0, 200) == (
        "⠋ place 2, 65 s: no worker is free; 8 busy of 8; node work-01 drains"
    )
    assert describe_wait(Waiting(None, 1.0, WHY), 1, 200).startswith("⠙ 1 s: ")


def test_the_line_never_wraps():
    assert len(describe_wait(Waiting(2, 65.0, WHY), 0, 30)) == 30


def test_on_a_terminal_the_line_is_rewritten_and_cleared(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    reports = WaitReports()
    reports(Waiting(2, 2.0, WHY))
    reports(Waiting(1, 4.0, WHY))
    reports.end()
    text = capsys.readouterr().err
    assert text.count("\n") == 0 and text.count("\r\x1b[2K") == 3 and text.endswith("\r\x1b[2K")


def test_elsewhere_only_changes_are_printed(capsys):
    reports = WaitReports()
    for waited in (2.0, 4.0, 40.0):
        reports(Waiting(2, waited, WHY))
    reports.end()
    assert [line.partition(", for")[2].split(" s")[0] for line in capsys.readouterr().err.splitlines()] == [" 2", " 40"]

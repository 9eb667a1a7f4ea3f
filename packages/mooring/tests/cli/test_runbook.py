"""`mooring runbook`: sections in the terminal, without a server."""

import pytest

from mooring.cli.failures import fail
from mooring.cli.remote.runbook import run_runbook
from mooring.model import errors


def test_a_section_is_printed_with_its_six_parts(capsys):
    run_runbook("pool/runners/linux")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pool (doctor)"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "Meaning",
        "How bad",
        "Mooring does",
        "Look at",
        "Do",
        "Over when",
    ]
    assert all("](" not in line for line in lines)


def test_the_case_of_an_alert_does_not_matter(capsys):
    run_runbook("mooringdown")
    assert capsys.readouterr().out.startswith("MooringDown (alerts)\n")


def test_without_a_name_all_sections_are_listed(capsys):
    run_runbook("")
    pages = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert pages == ["alerts", "invariants", "doctor", "errors"]


def test_an_unknown_name_is_answered_with_the_closest_one():
    with pytest.raises(errors.NotFound) as caught:
        run_runbook("no_idle_workr")
    assert "did you mean 'no_idle_worker'" in caught.value.fix


def test_the_command_under_an_error_prints_its_section(capsys):
    with pytest.raises(SystemExit):
        fail(errors.Conflict("someone else holds it"))
    advice = capsys.readouterr().err.splitlines()[-1]
    assert advice == "  runbook: mooring runbook conflict"
    run_runbook(advice.rpartition(" ")[2])
    assert capsys.readouterr().out.startswith("conflict (errors)\n")

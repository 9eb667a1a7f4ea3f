"""The page of results: tables, plots, and nothing that was not measured."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.bars import RESULTS, Bar, Floor, draw, judge, note
from benchmarks.claims import Measured, Trial
from benchmarks.claims_meter import Phase, count_requests
from benchmarks.page import Results, write_page

METRICS = """\
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="PATCH"} 7
apiserver_request_total{code="409",group="",resource="pods",subresource="",verb="PATCH"} 1
apiserver_request_total{code="200",group="",resource="pods",subresource="status",verb="PATCH"} 2
apiserver_request_total{code="200",group="",resource="",subresource="/metrics",verb="GET"} 5
apiserver_request_total{code="200",group="x",resource="leases",subresource="",verb="PUT"} 1e+03
"""


def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    path = tmp_path / "results"
    monkeypatch.setenv(RESULTS, str(path))
    rate = Bar("rate", 0.9, 0.72, at_least=True, spread=(0.8, 1.0), floor=Floor(0.95, "the CPU of a patch"))
    judge([rate, Bar("CPU-ms", 2.0, 1.2, floor=Floor(1.6, "a bare client's CPU")), Bar("KB", 9.0, 6.0)])
    note("Costs", [["process", "claim"], ["a|b", "1.00"]])
    draw("Rate <by> round", ("round", "a second"), {"claims": [(1, 10.0), (2, 30.0)], "flat": [(1, 0.0)]})
    return path.read_text().splitlines()


def test_the_page_has_what_the_benchmarks_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    results = Results("claims", "python -m benchmarks.claims", "MISSED", 12.0)
    results.read(recorded(tmp_path, monkeypatch))
    (tmp_path / "performance-old-1.svg").touch()
    write_page(
        [results, Results("cache", "python -m benchmarks.cache", "skipped", 0.0)], tmp_path / "page.md", tmp_path
    )
    page = (tmp_path / "page.md").read_text()
    assert "| claims | rate | 0.9 | 0.8 to 1 | at least 0.72 | holds |" in page
    assert "| claims | CPU-ms | 2 |  | at most 1.2 | **missed** |" in page
    assert "| cache | all its bars |  |  |  | **not measured**: skipped |" in page
    assert "| claims | CPU-ms | 1.67 | 1.6 | 1.25 | a bare client's CPU |" in page, "how near it is to the floor"
    assert "| claims | KB | 1.50 |  |  | no floor known |" in page
    assert "the CPU of a patch" not in page, "that bar holds"
    assert "| a/b | 1.00 |" in page
    assert "](../images/performance-claims-1.svg)" in page
    assert not (tmp_path / "performance-old-1.svg").exists(), "plots of an earlier run are gone"
    drawn = ElementTree.parse(tmp_path / "performance-claims-1.svg").getroot()
    assert "Rate <by> round" in [element.text for element in drawn.iter()]


def test_nothing_is_recorded_unless_a_file_is_named(capsys: pytest.CaptureFixture[str]):
    assert judge([Bar("CPU-ms", 1.0, 1.2)]) == 0
    note("Costs", [["process"]])
    assert "holds" in capsys.readouterr().out


def test_a_record_is_one_line_of_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert [set(json.loads(line)) for line in recorded(tmp_path, monkeypatch)] == [
        {"bar"},
        {"bar"},
        {"bar"},
        {"table"},
        {"plot"},
    ]


def test_requests_of_the_api_server_are_counted_by_verb_and_resource():
    assert count_requests(METRICS) == {"PATCH pods": 8, "PATCH pods/status": 2, "PUT leases": 1000}


def test_the_bars_of_claims_have_bare_claims_as_their_floor():
    raw = Phase([10.0, 20.0], 1.0, {"PATCH pods": 2}, 0, {"api": 3.0, "postgres": 0.0, "mooring": 0.0, "clients": 0.6})
    claim = Phase(
        [20.0, 40.0], 2.0, {"PATCH pods": 2}, 0, {"api": 3.0, "postgres": 0.4, "mooring": 1.0, "clients": 0.4}
    )
    bare = Phase([15.0, 24.0], 1.6, {"PATCH pods": 2}, 0, {"api": 3.0, "postgres": 0.3, "mooring": 0.0, "clients": 0.5})
    trial = Trial(raw, claim, bare)
    bars = Measured(rounds=[trial], bursts=[trial]).bars(apart=False)
    assert {bar.what: (round(bar.value, 2), bar.floor and round(bar.floor.value, 2)) for bar in bars} == {
        "claims/s over raw patches/s": (0.5, 0.62),
        "CPU-ms of Mooring and PostgreSQL a claim": (1.4, 0.8),
        "API writes a claim": (1.0, None),
        "p50 of a burst of 300 over raw patches": (2.0, 1.2),
        "p99 of a burst of 300 over raw patches": (2.0, 1.2),
    }


def test_a_phase_knows_its_rate_its_percentiles_and_its_writes():
    phase = Phase([float(n) for n in range(1, 101)], 2.0, {"PATCH pods": 100}, 0, {"mooring": 1.0})
    assert (phase.rate, phase.at(0.5), phase.at(0.99), phase.writes) == (50.0, 51.0, 100.0, 1.0)
    assert phase.finished(steps=2) == [(0.0, 0.0), (50.0, 50.0), (100.0, 100.0)]

"""Files with arrivals: what is read, and what is refused with its line."""

import re
from pathlib import Path

import pytest

from mooring.cli.launch.demand import SimulateCommand, run_simulation
from mooring.cli.output import Format
from mooring.model.demand import Demand
from mooring.model.errors import InvalidInput, Misconfigured
from mooring.simulation.trace_files import read_trace


def test_a_trace_is_read_from_seconds_or_times() -> None:
    assert read_trace("at\n3.5\n1\n") == [1.0, 3.5]
    assert read_trace("2026-01-05T00:00:01+00:00,acme\n2026-01-05T00:01:00+00:00,acme\n") == [1.0, 60.0]
    with pytest.raises(InvalidInput, match="line 2"):
        read_trace("1\nsoon\n")
    with pytest.raises(InvalidInput, match="one arrival a line"):
        read_trace("\n")


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "-7", "1e400", "-2026-01-05", "0001-01-01T00:00:00+14:00"])
@pytest.mark.parametrize("before", ["", "1\n"])
def test_an_arrival_at_no_moment_is_refused(word: str, before: str) -> None:
    if not before and not word.lstrip("-")[0].isdigit():
        before = "at\n"
    with pytest.raises(InvalidInput, match=re.escape(f"{word!r} is not allowed")) as refused:
        read_trace(f"{before}{word}\n2\n")
    assert f"in line {before.count(chr(10)) + 1}" in refused.value.fix


def test_a_trace_that_would_take_for_ever_to_play_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at most 100 days"):
        read_trace("0\n1e15\n")


def test_a_time_without_an_offset_is_in_utc() -> None:
    assert read_trace("2026-01-05T09:00:00\n2026-01-05T09:00:01Z\n") == [32_400.0, 32_401.0]


def simulate(trace: Path | None, svg: Path | None = None, from_ledger: str = "") -> None:
    asked = SimulateCommand(trace, from_ledger, "", Demand(), ("2s",), "24h", 1, svg, Format.TABLE)
    run_simulation(asked, lambda: pytest.fail("no server is asked"))


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"--trace: .*missing: No such file"):
        simulate(tmp_path / "missing")
    trace = tmp_path / "trace"
    trace.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="--trace"):
        simulate(trace)
    trace.write_text("1\n2\n")
    with pytest.raises(Misconfigured, match=r"--svg: .*: No such file"):
        simulate(trace, tmp_path / "missing" / "drawing.svg")


def test_numbers_of_the_table_are_shown_even_if_they_are_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace"
    trace.write_text("1\n700\n1400\n")
    simulate(trace)
    heading = capsys.readouterr().out.splitlines()[0]
    assert "  LATE  " in heading and "  CLAIMS  " in heading


@pytest.mark.parametrize("pool", ["linux", "runners/", "/linux", "a/b/c", "runners/ "])
def test_a_pool_of_the_ledger_is_named_with_its_namespace(pool: str) -> None:
    with pytest.raises(InvalidInput, match="NAMESPACE/NAME"):
        simulate(None, from_ledger=pool)

"""`make bench` runs every benchmark, and each prints its bars."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS, run, start, stop
from benchmarks.bars import MISSED, Bar, judge
from benchmarks.tail import STEPS, describe, split
from benchmarks.traced_serve import TRACED

ROOT = Path(__file__).parents[4]
TINY = {
    "reconcile": (),
    "protection": ("--workers", "100", "--busy", "50"),
    "warmups": ("--datasets", "3", "--shards", "4", "--nodes", "10"),
    "health": ("--workers", "20", "--seconds", "1"),
    "doctor": ("40",),
    "submissions": ("3",),
}

LONG = """\
import asyncio, sys

async def main():
    try:
        open(sys.argv[1], "w").close()
        await asyncio.sleep(600)
    finally:
        open(sys.argv[2], "w").close()

asyncio.run(main())
"""


def test_a_bar_prints_the_value_the_limit_and_their_ratio(capsys: pytest.CaptureFixture[str]):
    assert judge([Bar("CPU-ms", 25.0, 100.0), Bar("rate", 0.9, 0.72, at_least=True), Bar("requests", 0, 0)]) == 0
    assert judge([Bar("CPU-ms", 200.0, 100.0)]) == MISSED
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"CPU-ms +25\.000  \(bar <= 100\)  ratio +0\.25  holds", lines[0])
    assert re.fullmatch(r"rate +0\.900  \(bar >= 0\.72\)  ratio +1\.25  holds", lines[1])
    assert lines[2].endswith("holds")
    assert re.fullmatch(r"CPU-ms +200\.000  \(bar <= 100\)  ratio +2\.00  MISSED", lines[3])


def test_every_benchmark_is_run_by_make_bench():
    programs = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "sys.exit(" in path.read_text()}
    run = {benchmark.module.rpartition(".")[2] for benchmark in BENCHMARKS}
    assert run == programs - {"__main__", "compare"}  # which needs another version
    done = subprocess.run(["make", "-n", "bench"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "python -m benchmarks" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_runs_and_prints_its_bars(name: str):
    command = [sys.executable, "-m", f"benchmarks.{name}", *TINY[name]]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode in (0, MISSED), done.stderr  # a busy machine may miss a bar
    assert re.search(r"\(bar [<>]= .+\) .*(holds|MISSED)$", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_the_slowest_claims_are_set_beside_those_around_the_median():
    claims = [{"all": 10.0, "row": 2.0, "stamp": 5.0, "running": 1.0} for _ in range(198)]
    claims += [{"all": 50.0, "row": 2.0, "stamp": 5.0, "running": 1.0, "blocked": 41.0, "collector": 30.0}] * 2
    groups = split(claims)
    assert {name: len(group) for name, group in groups.items()} == {"median": 20, "slowest 1%": 2}
    named = {name: dict(zip(("ms", *STEPS), describe(group), strict=True)) for name, group in groups.items()}
    assert named["median"] | {"else": "2.0", "blocked": "0.0"} == named["median"]
    assert named["slowest 1%"] | {"ms": "50.0", "blocked": "41.0", "collector": "30.0"} == named["slowest 1%"]


def test_every_traced_step_is_a_method_of_the_product():
    assert [(kind.__name__, method) for kind, method, _ in TRACED if not callable(getattr(kind, method, None))] == []


def test_a_benchmark_for_which_no_time_is_left_is_not_started():
    results = run(BENCHMARKS[0], full=False, left_seconds=0.0)
    assert (results.verdict, results.bars) == ("no time was left", [])


def test_a_benchmark_that_takes_too_long_can_stop_what_it_started(tmp_path: Path):
    started, ended = tmp_path / "started", tmp_path / "ended"
    os.mkfifo(started)
    process = start([sys.executable, "-c", LONG, str(started), str(ended)], os.environ)
    started.read_text(encoding="utf-8")  # waits until it has opened the pipe
    stop(process)
    assert ended.exists()


def test_an_unknown_benchmark_is_refused_with_the_known_ones():
    command = [sys.executable, "-m", "benchmarks", "nothing"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "known: reconcile, protection" in done.stderr

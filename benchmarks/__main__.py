"""Run benchmarks one after another, in a size that takes less than 15 minutes in all.

    python -m benchmarks NAME ...           some of them, small
    python -m benchmarks --page             all of them, and write docs/reference/performance.md (`make bench`)
    python -m benchmarks claims --full      one of them, in the size that its bars are meant for

Each runs in its own process with a time limit and prints its bars: the measured value, the limit and the ratio of both.
Those that need a real control plane are skipped if its programs are not there (`make kubernetes`). All together stop
after 14 minutes: what has not finished by then is shown as not measured, as is what was not asked for with `--page`.
Ends with 1 if a bar is missed or not measured in time. Bars are meant for a machine that does nothing else meanwhile.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bars import MISSED, RESULTS
from benchmarks.page import Results, write_page
from drydock import BinariesMissing, find_binaries


@dataclass(frozen=True)
class Benchmark:
    """One benchmark, the arguments that make it small, and the most time it may take then."""

    name: str
    small: tuple[str, ...] = ()
    limit_seconds: int = 120
    kubernetes: bool = False
    program: str = ""  # if several benchmarks are one program with different arguments

    @property
    def module(self) -> str:
        return f"benchmarks.{self.program or self.name}"


BENCHMARKS = (
    Benchmark("reconcile"),
    Benchmark("protection", ("--workers", "3000", "--busy", "1000")),
    Benchmark("warmups", ("--datasets", "50")),
    Benchmark("health", ("--seconds", "5")),
    Benchmark("doctor", ("1000",)),
    Benchmark("fleet_page", ("--seconds", "5")),
    Benchmark("submissions", ("20", "100")),
    Benchmark("sandbox", ("--small",)),
    Benchmark("ledger", ("--seconds", "60")),
    Benchmark("cache", ("--pods", "1000", "--rounds", "1", "--only", "hawser,lightkube"), 240, True),
    Benchmark("claims", ("--workers", "1500", "--seconds", "20"), 420, True),
    Benchmark("apart", ("--workers", "900", "--rounds", "4", "--apart", "--only-rounds"), 240, True, "claims"),
    Benchmark("tail", ("--workers", "900", "--seconds", "18"), 120, True),
    Benchmark("replicas", ("--workers", "450", "--rounds", "2"), 240, True),
)
FULL_SECONDS = 3600
ALL_SECONDS = 840  # for all in small size: "less than 15 minutes" with the end of the last one and the page
STOP_SECONDS = 15  # for a benchmark to stop what it started


def run(benchmark: Benchmark, *, full: bool, left_seconds: float) -> Results:
    """Run one benchmark; what it came to in one word, and what it recorded."""
    arguments = () if full else benchmark.small
    limit = FULL_SECONDS if full else min(benchmark.limit_seconds, left_seconds)
    words = " ".join(("python", "-m", benchmark.module, *arguments))
    print(f"\n== {benchmark.name}: {words}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as folder:
        recorded = Path(folder) / "results"
        recorded.touch()
        verdict = _verdict(benchmark, arguments, limit, recorded)
        results = Results(benchmark.name, words, verdict, time.monotonic() - began)
        results.read(recorded.read_text(encoding="utf-8").splitlines())
    return results


def _verdict(benchmark: Benchmark, arguments: tuple[str, ...], limit: float, recorded: Path) -> str:
    if limit <= 0:
        return "no time was left"
    if benchmark.kubernetes:
        try:
            find_binaries()
        except BinariesMissing as missing:
            print(missing)
            return "skipped"
    command = [sys.executable, "-m", benchmark.module, *arguments]
    process = start(command, {**os.environ, RESULTS: str(recorded)})
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        stop(process)
        return f"TOOK MORE THAN {limit:.0f} s"
    return {0: "holds", MISSED: "MISSED"}.get(code, f"FAILED with {code}")


def start(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """As a process that Ctrl-C ends, also where a shell ignores it: it does so for what it runs in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(command, env=environment)


def stop(process: subprocess.Popen[bytes]) -> None:
    """As Ctrl-C does, so that it ends the control planes and databases that it started: they would disturb the next."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> int:
    """Run what was asked for and print a summary."""
    parser = argparse.ArgumentParser(
        prog="benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--full", action="store_true", help="in full size")
    parser.add_argument("--page", action="store_true", help="write docs/reference/performance.md")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - known.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    end = time.monotonic() + ALL_SECONDS
    results = [
        run(known[name], full=chosen.full, left_seconds=end - time.monotonic() - STOP_SECONDS)
        for name in chosen.names or known
    ]
    print("\n== summary")
    for result in results:
        print(f"{result.name:<14} {result.verdict:<24} {result.seconds:6.1f} s")
    if chosen.page:
        measured = {result.name: result for result in results}
        write_page([measured.get(name) or Results(name, "", "not part of this run", 0.0) for name in known])
    return 0 if all(result.verdict in ("holds", "skipped") for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

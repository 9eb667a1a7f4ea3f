"""Run benchmarks one after another, in a size that takes a few minutes in all: `python -m benchmarks [NAME ...]`.

    python -m benchmarks                    all of them, small
    python -m benchmarks claims --full      one of them, in the size that its bars are meant for

Each runs in its own process with a time limit and prints its bars: the measured value, the limit and the ratio of both.
Those that need a real control plane are skipped if its programs are not there (`make kubernetes`). Ends with 1 if a bar
is missed or a benchmark fails. Bars are meant for a machine that does nothing else meanwhile.
"""

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass

from benchmarks.bars import MISSED
from drydock import BinariesMissing, find_binaries


@dataclass(frozen=True)
class Benchmark:
    """One benchmark, the arguments that make it small, and the most time it may take then."""

    name: str
    small: tuple[str, ...] = ()
    limit_seconds: int = 120
    kubernetes: bool = False


BENCHMARKS = (
    Benchmark("reconcile"),
    Benchmark("protection", ("--workers", "3000", "--busy", "1000")),
    Benchmark("warmups", ("--datasets", "50")),
    Benchmark("health", ("--seconds", "5")),
    Benchmark("doctor", ("1000",)),
    Benchmark("submissions", ("20", "100")),
    Benchmark("sandbox", ("--small",)),
    Benchmark("cache", ("--pods", "1000", "--rounds", "1", "--only", "hawser,lightkube"), 240, True),
    Benchmark("claims", ("--workers", "600", "--seconds", "10", "--rounds", "2"), 300, True),
)
FULL_SECONDS = 3600


def run(benchmark: Benchmark, *, full: bool) -> str:
    """Run one benchmark; what it came to in one word."""
    arguments, limit = ((), FULL_SECONDS) if full else (benchmark.small, benchmark.limit_seconds)
    command = [sys.executable, "-m", f"benchmarks.{benchmark.name}", *arguments]
    print(f"\n== {benchmark.name} {' '.join(arguments)}".rstrip(), flush=True)
    if benchmark.kubernetes:
        try:
            find_binaries()
        except BinariesMissing as missing:
            print(missing)
            return "skipped"
    try:
        code = subprocess.run(command, timeout=limit, check=False).returncode
    except subprocess.TimeoutExpired:
        return f"TOOK MORE THAN {limit} s"
    return {0: "holds", MISSED: "MISSED"}.get(code, f"FAILED with {code}")


def main() -> int:
    """Run what was asked for and print a summary."""
    parser = argparse.ArgumentParser(
        prog="benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--full", action="store_true", help="in full size")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - known.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    results = []
    for name in chosen.names or known:
        began = time.monotonic()
        results.append((name, run(known[name], full=chosen.full), time.monotonic() - began))
    print("\n== summary")
    for name, result, seconds in results:
        print(f"{name:<14} {result:<24} {seconds:6.1f} s")
    return 0 if all(result in ("holds", "skipped") for _, result, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())

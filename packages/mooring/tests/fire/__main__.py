"""`make fire [SECONDS=S] [RATE=R] [WORKERS=W]`: faults on real parts, and the judge at the end."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from packages.mooring.tests.fire.run import Plan, burn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=Plan.seconds)
    parser.add_argument("--rate", type=float, default=Plan.rate)
    parser.add_argument("--workers", type=int, default=Plan.workers)
    parser.add_argument("--every", type=float, default=Plan.fault_every, help="seconds between two faults")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--folder", type=Path, help="where logs and the history stay")
    options = parser.parse_args()
    plan = Plan(options.workers, options.rate, options.seconds, options.every, options.seed)
    with tempfile.TemporaryDirectory(prefix="mooring-fire-") as folder:
        report = asyncio.run(burn(options.folder or Path(folder), plan))
    print(*report.lines(), sep="\n")
    return 1 if report.violations or report.success < 0.999 else 0


if __name__ == "__main__":
    sys.exit(main())

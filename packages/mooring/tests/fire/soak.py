"""`make soak HOURS=H`: load without faults on real parts; memory, handles, connections and sizes stay bounded."""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from packages.mooring.tests.fire.parts import Parts, real_parts
from packages.mooring.tests.fire.plot import write_plot
from packages.mooring.tests.fire.resources import Sample, find_growth, take_sample, write_samples
from packages.mooring.tests.fire.run import Plan, Report, judged_run

_SAMPLES = 240


async def soak(folder: Path, plan: Plan) -> tuple[Report, list[Sample]]:
    """One run, with samples of what it used."""
    samples: list[Sample] = []
    async with real_parts(folder, plan.workers) as parts:
        sampling = asyncio.create_task(_sample(parts, plan.seconds / _SAMPLES, samples))
        try:
            report = await judged_run(parts, plan)
        finally:
            sampling.cancel()
            await asyncio.gather(sampling, return_exceptions=True)
    return report, samples


async def _sample(parts: Parts, every: float, samples: list[Sample]) -> None:
    began = time.monotonic()
    while True:
        samples.append(await take_sample(parts, time.monotonic() - began))
        await asyncio.sleep(every)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("dist/soak"), help="for the samples and the plot")
    options = parser.parse_args()
    seconds = options.hours * 3600
    plan = Plan(options.workers, options.rate, seconds, fault_every=seconds)
    with tempfile.TemporaryDirectory(prefix="mooring-soak-") as folder:
        report, samples = asyncio.run(soak(Path(folder), plan))
    options.out.mkdir(parents=True, exist_ok=True)
    write_samples(samples, options.out / "soak.csv")
    title = f"{options.workers} workers, {options.rate:g} claims/s, {seconds / 60:.0f} min"
    write_plot(samples, options.out / "soak.svg", title)
    grown = find_growth(samples)
    print(*report.lines(), *grown, f"samples and plot: {options.out}", sep="\n")
    return 1 if report.violations or grown else 0


if __name__ == "__main__":
    sys.exit(main())

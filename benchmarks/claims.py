"""Claims against a real control plane, compared with plain pod patches in the same run.

    python -m benchmarks.claims [--workers 2000] [--seconds 30] [--rounds 6] [--budget] [--apart] [--only-rounds]

Starts kube-apiserver, controller-manager and scheduler (`make kubernetes`), a PostgreSQL and one `mooring serve`, fills
a pool with warm workers (`claims_stage.py`), and measures over HTTP from a separate process (`claims_load.py`):

- rounds of raw patches with 32 in flight, on pods that Mooring does not watch and with a patch as large as a claim's,
  and of claims with 40 clients, in turns, so that noise of the machine meets both;
- claims with 1 and 10 clients, and cycles of claim and release;
- arrivals at 45, 100 and 150/s in an open loop, and bursts of 300 at once, of raw patches and of claims.

A claim cannot be faster than its patch, so the bars are ratios to raw patches. Bare claims are measured beside them:
the row, the patch and the row again from a bare client, without Mooring. Their ratios are the floors. With --apart the
control plane has one half of the cores, and Mooring, its database and the clients have the other half, like on separate
machines. With --budget the pool has its PodDisruptionBudget: kube-controller-manager then writes the budget's status
again whenever workers change hands, which is a cost of Kubernetes. Prints p50/p90/p99, CPU-ms by process for each
request, and what the API server was asked meanwhile.
"""

import argparse
import asyncio
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.bars import Bar, Floor, draw, judge, note
from benchmarks.claims_meter import Meter, Phase, describe_requests, loading
from benchmarks.claims_stage import Cores, Stage, staged, starting_on

RATE_BAR, RATE_BAR_APART = 0.72, 0.92  # claims/s over raw patches/s
CPU_BAR_MS = 1.2  # of Mooring and PostgreSQL, a claim
STEADY_BAR = 1.6  # p50 and p99 at 45/s over those of raw patches
BURST_P50_BAR, BURST_P99_BAR = 0.9, 1.5  # of 300 at once, over those of raw patches
RATES = (45, 100, 150)
BURST, BURSTS = 300, 3


class Trial(NamedTuple):
    """The same load three times: raw patches, claims, and claims without Mooring."""

    raw: Phase
    claim: Phase
    bare: Phase

    def ratio(self, share: float) -> float:
        """Of the latencies of claims to those of raw patches."""
        return self.claim.at(share) / self.raw.at(share)

    def bare_ratio(self, share: float) -> float:
        """The same for bare claims."""
        return self.bare.at(share) / self.raw.at(share)


@dataclass
class Measured:
    """All phases that the bars are about."""

    rounds: list[Trial] = field(default_factory=list)
    steady: dict[int, Trial] = field(default_factory=dict)  # by arrivals a second
    with_releases: Phase | None = None
    bursts: list[Trial] = field(default_factory=list)

    def bars(self, *, apart: bool) -> list[Bar]:
        """The ratios to raw patches, the CPU and the writes."""
        costs = [trial.claim.cpu_ms["mooring"] + trial.claim.cpu_ms["postgres"] for trial in self.rounds]
        writes = max(trial.claim.writes for trial in (*self.rounds, *self.bursts))
        rates = [trial.claim.rate / trial.raw.rate for trial in self.rounds]
        bare_rate = statistics.median(trial.bare.rate / trial.raw.rate for trial in self.rounds)
        bare_cost = statistics.median(
            trial.bare.cpu_ms["clients"] + trial.bare.cpu_ms["postgres"] for trial in self.rounds
        )
        rate_bar = RATE_BAR_APART if apart else RATE_BAR
        bars = [
            _median("claims/s over raw patches/s", rates, rate_bar, at_least=True, floor=Floor(bare_rate, _BARE)),
            _median("CPU-ms of Mooring and PostgreSQL a claim", costs, CPU_BAR_MS, floor=Floor(bare_cost, _BARE)),
            Bar("API writes a claim", round(writes, 2), 1.0),
        ]
        if self.steady:
            limits = {0.5: STEADY_BAR, 0.99: STEADY_BAR}
            bars += _latencies("at 45/s over raw patches", [self.steady[RATES[0]]], limits)
        if self.bursts:
            limits = {0.5: BURST_P50_BAR, 0.99: BURST_P99_BAR}
            bars += _latencies("of a burst of 300 over raw patches", self.bursts, limits)
        return bars

    def record(self) -> None:
        """Tables and plots for the page."""
        note("CPU-ms for each request, median of the rounds", _cost_rows(self.rounds))
        note("Requests that the API server got in the last round", _request_rows(self.rounds[-1]))
        by_round = {name: _by_round(self.rounds, which) for which, name in enumerate(_NAMES)}
        draw("Rate by round", ("round", "requests a second"), by_round)
        if self.steady:
            note("Open loop", _steady_rows(self.steady, self.with_releases))
            draw("Latency by arrival rate", ("arrivals a second", "ms"), _by_rate(self.steady))
        if self.bursts:
            answered = {name: phase.finished() for name, phase in zip(_NAMES, self.bursts[-1], strict=True)}
            draw("Burst of 300: answered after", ("ms", "requests"), answered)


_NAMES = ("raw patches", "claims", "bare claims")
_BARE = "bare claims: row, patch and row, without Mooring"


def _name(share: float) -> str:
    return f"p{share * 100:.0f}"


def _median(
    what: str, values: Sequence[float], limit: float, *, at_least: bool = False, floor: Floor | None = None
) -> Bar:
    return Bar(what, statistics.median(values), limit, at_least, (min(values), max(values)), floor)


def _latencies(what: str, trials: Sequence[Trial], limits: dict[float, float]) -> list[Bar]:
    """The median ratio at each share, with that of bare claims as its floor."""
    return [
        _median(
            f"{_name(share)} {what}",
            [trial.ratio(share) for trial in trials],
            limit,
            floor=Floor(statistics.median(trial.bare_ratio(share) for trial in trials), _BARE),
        )
        for share, limit in limits.items()
    ]


def _cost_rows(rounds: Sequence[Trial]) -> list[list[str]]:
    def median(which: int, process: str) -> str:
        return f"{statistics.median(trial[which].cpu_ms[process] for trial in rounds):.2f}"

    rows = [[process, *(median(which, process) for which in range(3))] for process in rounds[0].raw.cpu_ms]
    return [["process", "raw patch", "claim", "bare claim"], *rows]


def _request_rows(trial: Trial) -> list[list[str]]:
    counted = zip(_NAMES, trial, strict=True)
    return [
        ["phase", "count", "requests"],
        *([name, str(len(each.latencies_ms)), describe_requests(each)] for name, each in counted),
    ]


def _steady_rows(steady: dict[int, Trial], with_releases: Phase | None) -> list[list[str]]:
    phases = [
        (f"{what}, {rate}/s", phase)
        for rate, trial in steady.items()
        for what, phase in zip(_NAMES, trial, strict=True)
    ]
    if with_releases is not None:
        phases.append((f"claims with releases, {RATES[0]}/s", with_releases))
    rows = [[name, *(f"{phase.at(share):.1f}" for share in (0.5, 0.9, 0.99))] for name, phase in phases]
    return [["arrivals", "p50 ms", "p90 ms", "p99 ms"], *rows]


def _by_round(rounds: Sequence[Trial], which: int) -> list[tuple[float, float]]:
    return [(float(number), trial[which].rate) for number, trial in enumerate(rounds, start=1)]


def _by_rate(steady: dict[int, Trial]) -> dict[str, list[tuple[float, float]]]:
    return {
        f"{name} {_name(share)}": [(float(rate), trial[which].at(share)) for rate, trial in steady.items()]
        for which, name in enumerate(_NAMES)
        for share in (0.5, 0.99)
    }


class Programme:
    """The phases, one after another."""

    def __init__(self, meter: Meter, stage: Stage, options: argparse.Namespace) -> None:
        self._meter = meter
        self._names = stage.raw_pods
        self._workers = options.workers
        self._seconds = options.seconds
        self._rounds = options.rounds
        self._burst = min(BURST, options.workers)

    async def run(self, *, only_rounds: bool) -> Measured:
        measured = Measured()
        await self._claim("warm up", self._workers // 3, 40)
        for number in range(1, self._rounds + 1):
            raw = await self._meter.measure(f"{number}: raw, 32 in flight", kind="patch", names=self._names, clients=32)
            claim = await self._claim(f"{number}: claims, 40 clients", self._workers // 3, 40)
            bare = await self._meter.measure(f"{number}: bare, 40 clients", kind="bare", names=self._names, clients=40)
            measured.rounds.append(Trial(raw, claim, bare))
        if only_rounds:
            return measured
        for rate in RATES:
            measured.steady[rate] = await self._arrivals(rate)
        pace = {"rate": RATES[0], "seconds": self._seconds}
        measured.with_releases = await self._meter.measure("with releases, 45/s", kind="arrivals", **pace)
        for _ in range(BURSTS):
            names = _repeated(self._names, self._burst)
            raw = await self._meter.measure(
                f"raw, burst of {self._burst}", kind="patch", names=names, clients=self._burst
            )
            claim = await self._claim(f"claims, burst of {self._burst}", self._burst, self._burst)
            bare = await self._meter.measure(
                f"bare, burst of {self._burst}", kind="bare", names=names, clients=self._burst
            )
            measured.bursts.append(Trial(raw, claim, bare))
        for clients in (1, 10):
            await self._claim(f"claims, {clients} clients", max(1, self._workers // 12), clients)
        await self._meter.measure("claim+release, 20", kind="cycle", count=self._workers // 3, clients=20)
        return measured

    async def _claim(self, name: str, count: int, clients: int) -> Phase:
        phase = await self._meter.measure(name, kind="claim", count=count, clients=clients)
        await self._meter.release_all()
        return phase

    async def _arrivals(self, rate: int) -> Trial:
        """As long as there are workers for claims that are not released."""
        pace = {"rate": rate, "seconds": min(self._seconds, self._workers * 0.6 / rate)}
        raw = await self._meter.measure(f"raw, {rate}/s", kind="patch arrivals", names=self._names, **pace)
        claims = await self._meter.measure(f"claims, {rate}/s", kind="claim arrivals", **pace)
        await self._meter.release_all()
        bare = await self._meter.measure(f"bare, {rate}/s", kind="bare arrivals", names=self._names, **pace)
        return Trial(raw, claims, bare)


def _repeated(names: list[str], count: int) -> list[str]:
    """As many pods as asked for; some of them twice if there are fewer."""
    return [names[number % len(names)] for number in range(count)]


async def main(options: argparse.Namespace) -> int:
    """Start everything and measure."""
    cores = Cores.of_this_machine(apart=options.apart)
    async with staged(options.workers, options.workers // 3, budget=options.budget, cores=cores) as stage:
        with starting_on(cores.mooring):
            async with loading(stage) as load:
                programme = Programme(Meter(stage, load), stage, options)
                measured = await programme.run(only_rounds=options.only_rounds)
    print()
    measured.record()
    return judge(measured.bars(apart=options.apart))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--budget", action="store_true")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--only-rounds", action="store_true")
    sys.exit(asyncio.run(main(parser.parse_args())))

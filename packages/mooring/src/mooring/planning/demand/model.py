"""The model of one pool's demand: everything that is learnt, step by step, and what it forecasts.

It changes only by `learn`, one step of ten seconds after another, so the same steps give the same model: on the
leader, on the replica that takes over, and in the simulator.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import ceil, comb
from typing import Any

import msgspec

from mooring.model.demand import Demand
from mooring.model.pool import PoolSpec
from mooring.model.pool_history import compute_mean, compute_percentiles
from mooring.planning.demand.allowance import FACTORS, Allowance
from mooring.planning.demand.outlook import Outlook, WaitFloor
from mooring.planning.demand.rates import STEP_SECONDS, Rates
from mooring.planning.demand.surprises import Surprises

BINS_A_STEP = 20  # arrivals are counted by half seconds
BIN_SECONDS = STEP_SECONDS / BINS_A_STEP
LONGEST_WINDOW = 900.0  # seconds; longer starts are treated as if they took so long
ASSUMED_START_SECONDS = 30.0  # until the first start was seen
DURATIONS_KEPT = 0.98  # weight that older starts and holds keep with each new one
WAITS_KEPT = 0.999
FADE_SECONDS = 300
RISEN, FALLEN = 1.08, 1.25  # forecasts that differ by less count as unchanged
NO_CHANCE = 1e-6
MOST_SPREAD = 30  # claims of a bin whose places within it are uncertain one by one; of more, the mean counts
QUIET_CLAIMS = 0.5  # fewer than so many expected within `scaleDownAfter`: none is expected
WAITS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 300.0, 600.0)


class Step(msgspec.Struct, frozen=True):
    """What happened in the ten seconds before `at`, in seconds since the epoch."""

    at: float
    arrivals: Mapping[int, int] = {}  # by half second, from 0 to 19
    starts: Mapping[int, int] = {}  # durations by bucket of `pool_history`
    holds: Mapping[int, int] = {}
    waits: Mapping[int, int] = {}


class Aim(msgspec.Struct, frozen=True):
    """What of a pool's spec the model needs."""

    wait_seconds: float
    share: float  # of claims that may wait longer
    kept_seconds: float  # how long a floor is kept after a peak
    returns: bool = False  # whether a worker serves again after a claim

    @property
    def kept_steps(self) -> int:
        return max(1, round(self.kept_seconds / STEP_SECONDS))


def aim_of(spec: PoolSpec, demand: Demand) -> Aim:
    """What the model needs of a spec."""
    return Aim(
        wait_seconds=demand.wait_seconds,
        share=demand.late_share,
        kept_seconds=demand.scale_down_seconds,
        returns=spec.reuse == "Always",
    )


class DemandModel(msgspec.Struct):
    """All that is learnt of one pool."""

    until: float = 0.0
    last_claim: float = 0.0
    rates: Rates = msgspec.field(default_factory=Rates)
    surprises: Surprises = msgspec.field(default_factory=Surprises)
    allowance: Allowance = msgspec.field(default_factory=Allowance)
    starts: dict[int, float] = {}
    holds: dict[int, float] = {}
    waits: dict[int, float] = {}
    tail: list[int] = []  # arrivals by half second, up to `until`
    forecasts: list[float] = []  # claims within the window, by step

    def learn(self, step: Step, aim: Aim) -> None:
        """Add the next step. Steps without a record, while nothing led, are left out."""
        bins = [step.arrivals.get(place, 0) for place in range(BINS_A_STEP)]
        claims = sum(bins)
        self.last_claim = step.at if claims else min(self.last_claim, step.at)  # clocks may be set back
        self.until = step.at
        window = self.window_seconds(aim)
        behind = ceil(window / STEP_SECONDS)
        self._learn_surprises(bins, window, behind)
        _add(self.starts, step.starts, DURATIONS_KEPT)
        _add(self.holds, step.holds, DURATIONS_KEPT)
        _add(self.waits, step.waits, WAITS_KEPT)
        self.rates.learn(step.at, claims)
        if int(step.at) % FADE_SECONDS == 0:
            self.surprises.fade(FADE_SECONDS / 86_400)
        self._forecast(step.at, aim, behind)

    def look(self, at: float, aim: Aim, predict: bool = True) -> Outlook:
        """What to expect now. `predict` says which waits other floors give."""
        rates = self.rates
        correction = rates.corrections()[-1]
        window = self.window_seconds(aim)
        usual = rates.base(at, window + STEP_SECONDS)
        rate = max(0.0, usual + correction.rate)
        quiet = at - self.last_claim >= aim.kept_seconds and rate * aim.kept_seconds < QUIET_CLAIMS
        floors = [] if quiet else self.recent_floors(aim)
        waits = compute_percentiles(self.waits)
        return Outlook(
            base=rates.base_name(),
            usual_rate=usual,
            correction_rate=correction.rate,
            correction_seconds=correction.horizon_seconds,
            start_seconds=compute_mean(self.starts),
            window_seconds=window,
            expected=rate * window,
            needed=floors[-1] if floors else 0,
            highest=max(floors, default=0),
            late_share=aim.share * FACTORS[self.allowance.chosen(aim.share, window)],
            quiet=quiet,
            wait_p99=waits.p99 if waits else None,
            hold_seconds=compute_mean(self.holds),
            waits=self._waits(rate, aim) if predict else (),
        )

    def recent_floors(self, aim: Aim) -> list[int]:
        """Which floors were needed in the last `kept_seconds`, the newest last."""
        degree = self.allowance.chosen(aim.share, self.window_seconds(aim))
        return [floors[degree] for floors in self.allowance.floors[-aim.kept_steps :]]

    def window_seconds(self, aim: Aim, wait_seconds: float | None = None) -> float:
        """The mean of what a start takes beyond the wait target.

        By Palm's theorem the number of orders under way depends on the mean only. If workers return, a claim uses
        one up for no longer than it is held.
        """
        wait = aim.wait_seconds if wait_seconds is None else wait_seconds
        excess = compute_mean(self.starts, wait)
        if excess is None:
            excess = max(0.0, ASSUMED_START_SECONDS - wait)
        if aim.returns and (hold := compute_mean(self.holds)) is not None:
            excess = min(excess, hold)
        return min(excess, LONGEST_WINDOW)

    def _waits(self, rate: float, aim: Aim) -> tuple[WaitFloor, ...]:
        """Which floor keeps 99 % of waits within each of some targets."""
        found: list[WaitFloor] = []
        for wait in WAITS:
            window = self.window_seconds(aim, wait)
            floor = self.surprises.floors(rate * window, (0.01,))[0] if window > 0 else 0
            found.append(WaitFloor(wait, min(floor, found[-1].floor) if found else floor))
        return tuple(found)

    def _learn_surprises(self, bins: list[int], window: float, behind: int) -> None:
        """Compare each arrival with what was forecast when its worker had to be ordered."""
        length = ceil(window / BIN_SECONDS) + 1
        self.tail = [*self.tail, *bins][-(length + BINS_A_STEP) :]
        known = len(self.forecasts) > behind and len(self.allowance.held) > behind
        if not window or not known or len(self.tail) < length + BINS_A_STEP:
            return
        forecast, first = self.forecasts[-1 - behind], len(self.tail) - BINS_A_STEP
        for place, count in enumerate(bins):
            for order in range(count):
                found = self._count_before(first + place, order, (order + 0.5) / count, window / BIN_SECONDS)
                for number, chance in found.items():
                    self.surprises.learn(forecast, number, chance)
                self.allowance.learn(found)

    def _count_before(self, end: int, order: int, within: float, reach: float) -> dict[int, float]:
        """Arrivals before one, as far back as `reach` bins before its place `within` its bin: numbers and chances.

        Where in its half second a claim came is not known. So of the claims of a bin that the window covers in part,
        each is within it with that chance.
        """
        left = max(0.0, reach - within)
        whole = int(left)
        certain = sum(self.tail[end - whole : end])
        found: dict[int, float] = {}
        for number, chance in binomial(self.tail[end - whole - 1], round(left - whole, 2)):
            for own, share in binomial(order, round(min(1.0, reach), 2)):
                if chance * share > NO_CHANCE:
                    found[certain + number + own] = found.get(certain + number + own, 0.0) + chance * share
        return found

    def _forecast(self, at: float, aim: Aim, behind: int) -> None:
        """Note what is expected from now on."""
        window = self.window_seconds(aim)
        usual = self.rates.base(at, window + STEP_SECONDS)
        expected = max(0.0, usual + self.rates.corrections()[-1].rate) * window
        if self.forecasts and self.forecasts[-1] / FALLEN < expected < self.forecasts[-1] * RISEN:
            expected = self.forecasts[-1]  # small changes would only move the floor up and down
        self.forecasts = [*self.forecasts, expected][-(behind + 2) :]
        shares = [aim.share * factor for factor in FACTORS]
        floors = self.surprises.floors(expected, shares) if window > 0 else [0] * len(FACTORS)
        self.allowance.note(floors, aim.kept_steps, behind)


@lru_cache(maxsize=4096)
def binomial(count: int, chance: float) -> tuple[tuple[int, float], ...]:
    """Numbers of hits, each with its probability; of many claims only the mean: the others take long to learn."""
    if count > MOST_SPREAD:
        return ((round(count * chance), 1.0),)
    shares = (comb(count, hits) * chance**hits * (1.0 - chance) ** (count - hits) for hits in range(count + 1))
    return tuple((hits, share) for hits, share in enumerate(shares) if share > NO_CHANCE)


def read_model(saved: dict[str, Any]) -> DemandModel | None:
    """A model as the ledger keeps it; None if it is one of a version that cannot be read."""
    try:
        return msgspec.convert(saved, DemandModel, strict=False)
    except msgspec.ValidationError:
        return None


def _add(known: dict[int, float], fresh: Mapping[int, int], kept: float) -> None:
    for bucket, count in fresh.items():
        left = kept**count
        for one in known:
            known[one] *= left
        known[bucket] = known.get(bucket, 0.0) + (1.0 - left) / (1.0 - kept)

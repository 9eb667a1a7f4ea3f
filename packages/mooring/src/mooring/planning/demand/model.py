"""The model of one pool's demand: everything that is learnt, step by step, and what it forecasts.

The only way it changes is `learn`, one step of ten seconds after another, so the same steps give the same model: on
the leader, on the replica that takes over, and in the simulator.
"""

from collections.abc import Mapping, Sequence
from math import ceil

import msgspec

from mooring.model.pool_history import BOUNDS
from mooring.planning.demand.rates import STEP_SECONDS, Correction, Rates
from mooring.planning.demand.reactions import Reactions
from mooring.planning.demand.allowance import Allowance
from mooring.planning.demand.surprises import Surprises

BINS_A_STEP = 20  # arrivals are counted by half seconds
BIN_SECONDS = STEP_SECONDS / BINS_A_STEP
LONGEST_WINDOW = 900.0  # seconds; starts that take longer are treated as if they took so long
ASSUMED_START_SECONDS = 30.0  # until the first start was seen
STARTS_KEPT = 0.98  # share of the weight that older starts keep at each new one
STEPS_A_DAY = 86_400 / STEP_SECONDS


class Step(msgspec.Struct, frozen=True):
    """What happened in the ten seconds before `at`, in seconds since the epoch."""

    at: float
    arrivals: Mapping[int, int] = {}  # by half second, from 0 to 19
    starts: Mapping[int, int] = {}  # durations by bucket of `pool_history`
    holds: Mapping[int, int] = {}


class Aim(msgspec.Struct, frozen=True):
    """What of the spec the model needs: which part of a start a claim may wait for, and how long a peak is kept."""

    wait_seconds: float
    kept_seconds: float
    share: float = 0.01  # of claims that may wait longer
    returns: bool = False  # whether a worker serves again after a claim


class Forecast(msgspec.Struct, frozen=True):
    """Claims expected within one start, with everything that the number was computed from."""

    base: str  # which forecast is the usual rate
    usual_rate: float  # claims a second
    correction: Correction
    window_seconds: float  # the part of a start that the wait target does not cover, on average
    claims: float  # within the window
    kept_claims: float  # the highest of the last `kept_seconds`


class DemandModel(msgspec.Struct):
    """All that is learnt of one pool."""

    until: float = 0.0
    rates: Rates = msgspec.field(default_factory=Rates)
    surprises: Surprises = msgspec.field(default_factory=Surprises)
    starts: dict[int, float] = {}
    holds: dict[int, float] = {}
    reactions: Reactions = msgspec.field(default_factory=Reactions)
    allowance: Allowance = msgspec.field(default_factory=Allowance)
    tail: list[int] = []  # arrivals by half second, up to `until`
    forecasts: list[float] = []  # claims within the window, by step
    kept: list[float] = []  # the same, each the highest of the last `kept_seconds`

    def learn(self, step: Step, aim: Aim) -> None:
        """Add the next step. Steps without any record, while nothing led, are left out."""
        self.until = step.at
        bins = [step.arrivals.get(place, 0) for place in range(BINS_A_STEP)]
        window = self.window_seconds(aim)
        behind = ceil(window / STEP_SECONDS)
        self.reactions.score(sum(bins), behind)
        self._learn_surprises(bins, window)
        _add(self.starts, step.starts)
        _add(self.holds, step.holds)
        self.rates.learn(step.at, sum(bins))
        self.surprises.fade(1.0 / STEPS_A_DAY) if int(step.at) % 300 == 0 else None
        usual = self.rates.base(step.at, window + STEP_SECONDS)
        self.reactions.note([max(0.0, usual + one.rate) for one in self.rates.corrections()], behind)
        forecast = self.forecast(step.at, aim)
        self._note(forecast, aim, window)
        self.allowance.note(forecast.kept_claims, self.surprises, aim.share, behind)

    def forecast(self, at: float, aim: Aim, recent: Sequence[int] = ()) -> Forecast:
        """What to expect now; `recent` counts arrivals since `until`."""
        window = self.window_seconds(aim)
        correction = self.rates.corrections(sum(recent))[self.reactions.chosen()]
        usual = self.rates.base(at, window + STEP_SECONDS)
        claims = max(0.0, usual + correction.rate) * window
        keep = max(1, round(aim.kept_seconds / STEP_SECONDS))
        return Forecast(
            base=self.rates.base_name(),
            usual_rate=usual,
            correction=correction,
            window_seconds=window,
            claims=claims,
            kept_claims=max([claims, *self.forecasts[-keep:]]),
        )

    def window_seconds(self, aim: Aim, wait_seconds: float | None = None) -> float:
        """The mean of what a start takes beyond the wait target.

        By Palm's theorem the number of orders under way depends on the mean only. If workers return, a claim uses
        one up for no longer than it is held.
        """
        wait = aim.wait_seconds if wait_seconds is None else wait_seconds
        excess = compute_excess(self.starts, wait) if self.starts else max(0.0, ASSUMED_START_SECONDS - wait)
        if aim.returns and self.holds:
            excess = min(excess, compute_excess(self.holds, 0.0))
        return min(excess, LONGEST_WINDOW)

    @property
    def start_seconds(self) -> float | None:
        """The mean of the starts; None while none was seen."""
        return compute_excess(self.starts, 0.0) if self.starts else None

    def _learn_surprises(self, bins: list[int], window: float) -> None:
        """Compare each arrival with what was forecast when its worker had to be ordered."""
        length = max(1, ceil(window / BIN_SECONDS)) + 1
        self.tail = [*self.tail, *bins][-(length + BINS_A_STEP) :]
        behind = ceil(window / STEP_SECONDS)
        if not any(bins) or len(self.kept) <= behind or len(self.tail) < length + BINS_A_STEP:
            return
        forecast = self.kept[-1 - behind]
        first = len(self.tail) - BINS_A_STEP
        for place, count in enumerate(bins):
            if not count:
                continue
            end = first + place
            for order in range(count):
                reach = window / BIN_SECONDS - (order + 0.5) / count  # in bins, before this one
                whole = max(0, int(reach))
                found = float(order) * min(1.0, window / BIN_SECONDS)
                found += sum(self.tail[end - whole : end])
                if reach > whole:
                    found += (reach - whole) * self.tail[end - whole - 1]
                before = int(found)
                for number, claims in ((before, 1.0 - found + before), (before + 1, found - before)):
                    if claims:
                        self.surprises.learn(forecast, number, claims)
                        self.allowance.learn(number, claims, behind)

    def _note(self, forecast: Forecast, aim: Aim, window: float) -> None:
        keep = max(round(aim.kept_seconds / STEP_SECONDS), ceil(window / STEP_SECONDS)) + 2
        self.forecasts = [*self.forecasts, forecast.claims][-keep:]
        self.kept = [*self.kept, forecast.kept_claims][-keep:]


def compute_excess(durations: Mapping[int, float], seconds: float) -> float:
    """The mean of how much durations exceed some seconds; those that do not exceed them count as 0."""
    total = sum(durations.values())
    return sum(count * max(0.0, _middle(bucket) - seconds) for bucket, count in durations.items()) / total


def _middle(bucket: int) -> float:
    low = BOUNDS[bucket - 1] if bucket else 0.0
    return (low + BOUNDS[min(bucket, len(BOUNDS) - 1)]) / 2


def _add(known: dict[int, float], fresh: Mapping[int, int]) -> None:
    for bucket, count in fresh.items():
        for _ in range(min(count, 50)):
            for one in known:
                known[one] *= STARTS_KEPT
            known[bucket] = known.get(bucket, 0.0) + 1.0

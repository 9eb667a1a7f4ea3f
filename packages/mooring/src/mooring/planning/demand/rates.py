"""How many claims a second arrive: what is usual at this time, corrected by what the last hour shows.

Three forecasts compete: the level of the last hours, the same time of day, the same time of the week. The one that
erred least so far is the base. A recent count corrects it only if it differs by more than the counts of this pool
usually do: ordinary noise and the bursts that this pool always has change nothing.
"""

from math import exp, sqrt

import msgspec

from mooring.planning.demand.profile import DAY_SLOTS, SLOT_SECONDS, WEEK_SLOTS, Profile, slot_of

STEP_SECONDS = 10
LEVEL_SECONDS = 12 * 3600.0
HORIZONS = (3600.0, 600.0, 120.0, 30.0)  # seconds over which recent counts are weighed, longest first
SURPRISE = 4.0  # standard deviations
FALLING_HORIZON = 600.0  # the shortest that may lower the rate: a short pause proves nothing
SPREAD_STEPS = 2160.0  # steps over which the spread of counts is learnt
MOST_SPREAD = 25.0
SCORED_SLOTS = 288.0
UNSEEN_PENALTY = 1.2  # a profile that was not scored yet is expected to err by the noise, and a bit
FEWEST_SECONDS = SLOT_SECONDS / 2  # of a slot that have to be seen for its rate to be known
MOST_UNSEEN = 6  # slots that a profile may lack, such as those of a restart at the same time of every day
LEVEL, DAY, WEEK = "level", "day", "week"


class Correction(msgspec.Struct, frozen=True):
    """Claims a second to add to the usual rate, and the seconds that show it; 0 seconds: nothing differs."""

    rate: float = 0.0
    horizon_seconds: float = 0.0


class Slot(msgspec.Struct):
    """The slot of five minutes that is being counted."""

    ordinal: int = -1
    claims: int = 0
    seconds: float = 0.0
    forecasts: dict[str, float] = {}  # by base, as they were at its begin


class Rates(msgspec.Struct):
    """What is learnt of the rate. Changes by `learn` only."""

    level: float = 0.0
    level_weight: float = 0.0
    counted: list[float] = msgspec.field(default_factory=lambda: [0.0] * len(HORIZONS))
    expected: list[float] = msgspec.field(default_factory=lambda: [0.0] * len(HORIZONS))
    weights: list[float] = msgspec.field(
        default_factory=lambda: [0.0] * len(HORIZONS)
    )  # seconds that each horizon has seen
    spreads: list[float] = msgspec.field(
        default_factory=lambda: [1.0] * len(HORIZONS)
    )  # variance of counts in units of a Poisson process
    day: Profile = msgspec.field(default_factory=lambda: Profile(DAY_SLOTS))
    week: Profile = msgspec.field(default_factory=lambda: Profile(WEEK_SLOTS))
    errors: dict[str, float] = {}  # mean error by base
    noise: float = 0.0  # error of guessing that a slot is like the one before
    slots_seen: float = 0.0
    previous: int | None = None  # claims of the slot before, had all of it been seen
    slot: Slot = msgspec.field(default_factory=Slot)

    def learn(self, at: float, claims: int) -> None:
        """Add the step of `STEP_SECONDS` that ended at `at`."""
        begin = at - STEP_SECONDS
        self._count_slot(begin, claims)
        base = self.base(begin, 0.0)
        self._learn_spreads()
        for index, horizon in enumerate(HORIZONS):
            kept = exp(-STEP_SECONDS / horizon)
            self.counted[index] = self.counted[index] * kept + claims
            self.expected[index] = self.expected[index] * kept + base * STEP_SECONDS
            self.weights[index] = self.weights[index] * kept + STEP_SECONDS
        kept = exp(-STEP_SECONDS / LEVEL_SECONDS)
        self.level_weight = self.level_weight * kept + (1.0 - kept)
        self.level += (1.0 - kept) / self.level_weight * (claims / STEP_SECONDS - self.level)

    def base_name(self) -> str:
        """Which forecast erred least. A simpler one is kept unless another is clearly better."""
        if not self.slots_seen:
            return LEVEL
        best, least = LEVEL, self.errors.get(LEVEL, 0.0)
        for name, profile in ((DAY, self.day), (WEEK, self.week)):
            if len(profile.rates) < profile.slots - MOST_UNSEEN:
                continue
            error = self.errors.get(name, UNSEEN_PENALTY * self.noise / 2)
            if error < 0.9 * least:
                best, least = name, error
        return best

    def base(self, at: float, ahead_seconds: float) -> float:
        """The usual rate from now until then: the highest of this time."""
        name = self.base_name()
        if name == LEVEL:
            return self.level
        profile = self.day if name == DAY else self.week
        found = profile.highest(slot_of(at), slot_of(at + ahead_seconds))
        return self.level if found is None else found

    def corrections(self) -> list[Correction]:
        """What recent counts say against the base: nothing, then by the longest horizon, and so on to the shortest."""
        found = [Correction()]
        for index, horizon in enumerate(HORIZONS):
            last, weight = found[-1], self.weights[index]
            differs = (self.counted[index] - self.expected[index]) / weight if weight else 0.0
            surprising = bool(weight) and abs(differs - last.rate) > SURPRISE * self._deviation(index, last.rate)
            counts = differs > last.rate or horizon >= FALLING_HORIZON
            found.append(Correction(differs, horizon) if surprising and counts else last)
        return found

    def _deviation(self, index: int, correction: float) -> float:
        """The standard deviation of the rate over a horizon, if the base with the correction is right."""
        weight = self.weights[index]
        expected = max(self.expected[index] + correction * weight, 1.0)
        return sqrt(self.spreads[index] * expected / 2.0) / weight

    def _learn_spreads(self) -> None:
        corrections = self.corrections()
        for index, horizon in enumerate(HORIZONS):
            weight = self.weights[index]
            if weight < horizon / 2:
                continue
            rate = corrections[index].rate
            differs = (self.counted[index] - self.expected[index]) / weight
            poisson = self._deviation(index, rate) / sqrt(self.spreads[index])
            # One event is no habit: its weight is bounded.
            square = min(((differs - rate) / poisson) ** 2, MOST_SPREAD)
            self.spreads[index] = max(1.0, self.spreads[index] + (square - self.spreads[index]) / SPREAD_STEPS)

    def _count_slot(self, begin: float, claims: int) -> None:
        ordinal = slot_of(begin)
        if ordinal != self.slot.ordinal:
            self._close_slot()
            forecasts = {LEVEL: self.level}
            for name, profile in ((DAY, self.day), (WEEK, self.week)):
                if profile.slot(ordinal) in profile.rates and (rate := profile.rate(ordinal)) is not None:
                    forecasts[name] = rate
            self.slot = Slot(ordinal, 0, 0.0, forecasts)
        self.slot.claims += claims
        self.slot.seconds += STEP_SECONDS

    def _close_slot(self) -> None:
        slot = self.slot
        if slot.seconds < FEWEST_SECONDS:
            return
        self.day.learn(slot.ordinal, slot.claims / slot.seconds)
        self.week.learn(slot.ordinal, slot.claims / slot.seconds)
        if self.level_weight < 0.1:
            return
        share = max(1.0 / SCORED_SLOTS, 1.0 / (self.slots_seen + 1.0))
        for name, rate in slot.forecasts.items():
            error = compute_error(slot.claims, rate * slot.seconds)
            known = self.errors.get(name)
            if known is None and name != LEVEL:
                known = UNSEEN_PENALTY * self.noise / 2
            self.errors[name] = error if known is None else known + share * (error - known)
        if self.previous is not None:
            usual = self.previous * slot.seconds / SLOT_SECONDS
            self.noise += share * (compute_error(slot.claims, usual) - self.noise)
        self.previous = round(slot.claims * SLOT_SECONDS / slot.seconds)
        self.slots_seen += 1.0


def compute_error(counted: float, expected: float) -> float:
    """Squared difference of roots: about 1 if a Poisson count was forecast right, however high it is."""
    return 4.0 * (sqrt(counted) - sqrt(expected)) ** 2

"""How quickly to believe recent counts: each degree is scored by what it forecast and what came."""

from math import sqrt

import msgspec

from mooring.planning.demand.rates import HORIZONS

SCORED_STEPS = 4320.0
EAGERNESS = 1.02  # a quicker reaction may err so much more: a step that was never seen before must not be missed


class Reactions(msgspec.Struct):
    """Degree 0 believes no recent count, degree n the n longest horizons."""

    errors: list[float] = msgspec.field(default_factory=lambda: [0.0] * (len(HORIZONS) + 1))
    weight: float = 0.0
    forecasts: list[list[float]] = []  # claims a second, by step and degree

    def chosen(self) -> int:
        """The quickest degree that does not err clearly more than the best one."""
        best = min(self.errors)
        return max(index for index, error in enumerate(self.errors) if error <= EAGERNESS * best)

    def note(self, rates: list[float], behind: int) -> None:
        """What each degree forecasts now."""
        self.forecasts = [*self.forecasts, rates][-(behind + 2) :]

    def score(self, claims: int, behind: int) -> None:
        """What came in the step that these forecasts were for."""
        if len(self.forecasts) <= behind:
            return
        self.weight += (1.0 - self.weight) / SCORED_STEPS
        share = 1.0 / SCORED_STEPS / self.weight
        for index, rate in enumerate(self.forecasts[-1 - behind]):
            error = 4.0 * (sqrt(claims) - sqrt(rate * 10)) ** 2
            self.errors[index] += share * (error - self.errors[index])

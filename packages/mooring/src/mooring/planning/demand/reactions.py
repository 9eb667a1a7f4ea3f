"""How quickly to believe recent counts: each degree is scored by what it forecast and by what came.

A pool whose bursts come and go learns that a burst says nothing about the next minute; a pool whose traffic shifts
learns to follow at once. Without evidence, the quickest is believed.
"""

import msgspec

from mooring.planning.demand.rates import HORIZONS, STEP_SECONDS, compute_error

SCORED_STEPS = 4320.0  # half a day
EAGERNESS = 1.02  # a quicker degree may err so much more: a shift that was never seen before must not be missed


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
        """What each degree forecasts now, for the step that begins `behind` steps later."""
        self.forecasts = [*self.forecasts, rates][-(behind + 1) :]

    def learn(self, claims: int, behind: int) -> None:
        """What came in the step that the oldest forecasts were for."""
        if len(self.forecasts) <= behind:
            return
        self.weight += (1.0 - self.weight) / SCORED_STEPS
        share = 1.0 / SCORED_STEPS / self.weight
        for index, rate in enumerate(self.forecasts[0]):
            self.errors[index] += share * (compute_error(claims, rate * STEP_SECONDS) - self.errors[index])

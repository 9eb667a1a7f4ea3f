"""How strictly to plan so that the target holds over a day: floors are whole numbers and forecasts are cautious."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from mooring.planning.demand.surprises import Surprises

FACTORS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
USUAL = 3
MARGIN = 0.9
CLAIMS_KEPT = 1.0 - 1.0 / 20_000
FEWEST = 1000.0


class Allowance(msgspec.Struct):
    """Floors for several shares of late claims, and how many claims would have found each used up."""

    claims: float = 0.0
    missed: list[float] = msgspec.field(default_factory=lambda: [0.0] * len(FACTORS))
    floors: list[list[int]] = []  # by step

    def factor(self, share: float) -> float:
        """The most generous factor that kept the share of late claims."""
        if self.claims < FEWEST:
            return MARGIN * FACTORS[USUAL]
        good = [
            factor
            for factor, missed in zip(FACTORS, self.missed, strict=True)
            if missed <= MARGIN * share * self.claims
        ]
        return max(good, default=FACTORS[0])

    def note(self, forecast: float, surprises: Surprises, share: float, behind: int) -> None:
        """What each factor would order now."""
        floors = surprises.floors(forecast, [share * factor for factor in FACTORS])
        self.floors = [*self.floors, floors][-(behind + 2) :]

    def learn(self, found: int, claims: float, behind: int) -> None:
        """A claim came after `found` others."""
        if len(self.floors) <= behind:
            return
        kept = CLAIMS_KEPT if claims else 1.0
        self.claims = self.claims * kept + claims
        self.missed = [
            missed * kept + (claims if found >= floor else 0.0)
            for missed, floor in zip(self.missed, self.floors[-1 - behind], strict=True)
        ]

"""How strictly to plan so that the target holds over all claims of a day.

A floor is a whole number and stays up for a while after a peak, so planning every moment for the target serves more
claims in time than asked, at a cost. Several degrees of strictness are therefore played beside each other: what each
would have kept ready, and how many claims would have found that used up. The least strict one that met the target
counts.
"""

from collections.abc import Sequence

import msgspec

FACTORS = (0.7, 0.85, 1.0, 1.1, 1.2, 1.3, 1.4, 1.55, 1.7, 2.0)  # of the share of claims that may be late
UNPROVEN = 1  # which of them counts before enough claims were seen
MARGIN = 0.95  # of that share, which the past must have kept: the future differs
COARSENESS = 0.2  # of the margin, for each second of the window: arrivals are counted in half seconds
CLAIMS_KEPT = 1.0 - 1.0 / 20_000  # weight that past claims keep with each new one
FEWEST_CLAIMS = 2000.0


class Allowance(msgspec.Struct):
    """Floors of all degrees by step, and how many claims each would have missed."""

    unjudged: float = FEWEST_CLAIMS  # claims that are not counted: the first floors are guesses
    claims: float = 0.0
    missed: list[float] = msgspec.field(default_factory=lambda: [0.0] * len(FACTORS))
    floors: list[list[int]] = []  # for the forecast of each step
    held: list[list[int]] = []  # the same, each the highest of the steps that a peak is kept

    def chosen(self, share: float, window_seconds: float) -> int:
        """The least strict degree that kept the share of late claims, counted over such windows."""
        if self.claims < FEWEST_CLAIMS:
            return UNPROVEN
        limit = (MARGIN - COARSENESS / max(1.0, window_seconds)) * share * self.claims
        kept = [index for index, missed in enumerate(self.missed) if missed <= limit]
        return max(kept, default=0)

    def note(self, floors: Sequence[int], keep: int, behind: int) -> None:
        """What each degree keeps ready from now on; `keep` and `behind` are steps."""
        self.floors = [*self.floors, list(floors)][-keep:]
        self.held = [*self.held, [max(column) for column in zip(*self.floors, strict=True)]][-(behind + 1) :]

    def learn(self, found: int, claims: float) -> None:
        """A claim came after `found` others; workers for it were ordered at the oldest step that is held."""
        if self.unjudged > 0:
            self.unjudged -= claims
            return
        self.claims = self.claims * CLAIMS_KEPT + claims
        self.missed = [
            missed * CLAIMS_KEPT + (claims if found >= floor else 0.0)
            for missed, floor in zip(self.missed, self.held[0], strict=True)
        ]

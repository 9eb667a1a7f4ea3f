"""How strictly to plan so that the target holds over all claims of a day.

A floor is a whole number and stays up for a while after a peak, so planning every moment for the target serves more
claims in time than asked, at a cost. Several degrees of strictness are therefore played beside each other: what each
would have kept ready, and how many claims would have found that used up. The least strict one that met the target
counts. Late claims come together, in bursts: how many there were is then less certain, so the sum of them over five
minutes is what counts as one event.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

import msgspec

FACTORS = (0.7, 0.85, 1.0, 1.1, 1.2, 1.3, 1.4, 1.55, 1.7, 2.0)  # of the share of claims that may be late
UNPROVEN = 1  # which of them counts before enough claims were seen
DOUBT = 0.4  # standard errors of the late claims that are added to them: the future differs
BLOCK_STEPS = 30  # that late claims of one event fall into
COARSENESS = 0.2  # of the margin, for each second of the window: arrivals are counted in half seconds
CLAIMS_KEPT = 1.0 - 1.0 / 10_000  # weight that past claims keep with each new one
FEWEST_CLAIMS = 2000.0


class Allowance(msgspec.Struct):
    """Floors of all degrees by step, and how many claims each would have missed."""

    unjudged: float = FEWEST_CLAIMS  # claims that are not counted: the first floors are guesses
    claims: float = 0.0
    missed: list[float] = msgspec.field(default_factory=lambda: [0.0] * len(FACTORS))
    squares: list[float] = msgspec.field(default_factory=lambda: [0.0] * len(FACTORS))  # of late claims by block
    block: list[float] = msgspec.field(default_factory=lambda: [0.0] * len(FACTORS))  # late claims of the newest one
    block_claims: int = 0
    block_steps: int = 0
    floors: list[list[int]] = []  # for the forecast of each step
    held: list[list[int]] = []  # the same, each the highest of the steps that a peak is kept

    def chosen(self, share: float, window_seconds: float) -> int:
        """The least strict degree that kept the share of late claims, counted over such windows."""
        if self.claims < FEWEST_CLAIMS:
            return UNPROVEN
        limit = (1.0 - COARSENESS / max(1.0, window_seconds)) * share * self.claims
        late = [
            missed + DOUBT * sqrt(squares + block**2)
            for missed, squares, block in zip(self.missed, self.squares, self.block, strict=True)
        ]
        return max((index for index, count in enumerate(late) if count <= limit), default=0)

    def note(self, floors: Sequence[int], keep: int, behind: int) -> None:
        """What each degree keeps ready from now on; `keep` and `behind` are steps."""
        self.floors = [*self.floors, list(floors)][-keep:]
        self.held = [*self.held, [max(column) for column in zip(*self.floors, strict=True)]][-(behind + 1) :]
        self.block_steps += 1
        if self.block_steps >= BLOCK_STEPS:
            self._close_block()

    def learn(self, found: Mapping[int, float]) -> None:
        """Learn from a claim that came after this number of others, each number with its probability.

        Workers for it were ordered at the oldest step that is held.
        """
        if self.unjudged > 0:
            self.unjudged -= 1.0
            return
        self.claims = self.claims * CLAIMS_KEPT + 1.0
        late = [sum(chance for number, chance in found.items() if number >= floor) for floor in self.held[0]]
        self.missed = [missed * CLAIMS_KEPT + more for missed, more in zip(self.missed, late, strict=True)]
        self.block = [count + more for count, more in zip(self.block, late, strict=True)]
        self.block_claims += 1

    def _close_block(self) -> None:
        kept = CLAIMS_KEPT**self.block_claims
        self.squares = [square * kept + late**2 for square, late in zip(self.squares, self.block, strict=True)]
        self.block, self.block_claims, self.block_steps = [0.0] * len(FACTORS), 0, 0

"""How far counts of claims exceeded their forecast: what the floor has to cover beyond it.

For each past claim: how many claims came before it within the time that a start takes, beside the number that was
forecast when those workers had to be ordered. A floor of F serves the claim in time if fewer than F came. So the
smallest F that few enough of the past claims exceed is the floor, whatever causes the excess: chance, bursts, or
errors of the forecast. Differences are kept as differences of roots, which have about the same spread for every rate
(Anscombe); forecasts of different size are kept apart.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, erfc, floor, log2, sqrt

import msgspec

BIN = 0.1  # of the difference of roots
SHIFT = 0.375
REACH = 4.0  # sizes, each half a doubling, within which forecasts are alike
PRIOR_CLAIMS = 60.0  # that a Poisson process with twice the variance is worth, before anything was seen
PRIOR_DEVIATION = 1.4
HIGHEST_PRIOR, LOWEST = 60, -60  # places beyond which the prior is 0 or 1
DAY_KEPT = 0.6  # share of what was learnt that counts still after a day


class Surprises(msgspec.Struct):
    """Counts of claims by size of the forecast and by difference."""

    counts: dict[int, dict[int, float]] = {}

    def learn(self, forecast: float, found: int, claims: float) -> None:
        """`found` claims came before this one, `forecast` were expected."""
        row = self.counts.setdefault(round(_size(forecast)), {})
        place = floor(_difference(found, forecast) / BIN)
        row[place] = row.get(place, 0.0) + claims

    def fade(self, days: float) -> None:
        """Time passes: old surprises count less."""
        kept = DAY_KEPT**days
        for size, row in list(self.counts.items()):
            fresh = {place: count * kept for place, count in row.items() if count * kept > 0.01}
            if fresh:
                self.counts[size] = fresh
            else:
                del self.counts[size]

    def floors(self, forecast: float, shares: Sequence[float]) -> list[int]:
        """For each share, in rising order: the smallest floor that at most this share of claims finds used up."""
        row = self._row(forecast)
        total = PRIOR_CLAIMS + sum(row.values())
        place = max(row, default=0)
        place = max(place, HIGHEST_PRIOR) + 1
        above, found = 0.0, []
        for share in shares:
            while place >= LOWEST:
                reached = above + row.get(place, 0.0)
                if reached + PRIOR_CLAIMS * _prior(place) > share * total:
                    break
                above = reached
                place -= 1
            found.append(max(1, ceil(_invert((place + 1) * BIN, forecast) - 1e-9)))
        return found

    def _row(self, forecast: float) -> dict[int, float]:
        """What forecasts of about this size have seen; nearer ones count more, so that the floor changes gradually."""
        size = _size(forecast)
        row: dict[int, float] = {}
        for near in range(ceil(size - REACH), floor(size + REACH) + 1):
            share = 1.0 - abs(size - near) / REACH
            for place, count in self.counts.get(near, {}).items():
                row[place] = row.get(place, 0.0) + share * count
        return row


def _size(forecast: float) -> float:
    return max(-8.0, 2 * log2(max(forecast, 1e-3)))


def _difference(found: float, forecast: float) -> float:
    return 2.0 * (sqrt(found + SHIFT) - sqrt(forecast + SHIFT))


def _invert(difference: float, forecast: float) -> float:
    return float(max(0.0, difference / 2 + sqrt(forecast + SHIFT)) ** 2 - SHIFT)


@lru_cache(maxsize=1024)
def _prior(place: int) -> float:
    return 0.5 * erfc(place * BIN / PRIOR_DEVIATION / sqrt(2.0))

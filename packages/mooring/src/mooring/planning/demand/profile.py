"""The usual rate of claims by time of day and by time of week, in slots of five minutes, in UTC."""

import msgspec

SLOT_SECONDS = 300
DAY_SLOTS = 86_400 // SLOT_SECONDS
WEEK_SLOTS = 7 * DAY_SLOTS
NEWEST_SHARE = 0.4  # of a slot's rate that its newest day or week makes up
EPOCH_WEEKDAY_SLOT = 3 * DAY_SLOTS  # the epoch began on a Thursday; slot 0 of a week is Monday, 00:00
_KERNEL = ((-1, 0.25), (0, 0.5), (1, 0.25))  # a single count is noisy: neighbours smooth it


class Profile(msgspec.Struct):
    """Claims a second by slot; a slot that was never seen is missing."""

    slots: int
    rates: dict[int, float] = {}

    def learn(self, ordinal: int, rate: float) -> None:
        """Add what was counted in a slot, numbered since the epoch."""
        slot = self.slot(ordinal)
        known = self.rates.get(slot)
        self.rates[slot] = rate if known is None else known + NEWEST_SHARE * (rate - known)

    def slot(self, ordinal: int) -> int:
        """The place of a slot within the day or the week."""
        return (ordinal + EPOCH_WEEKDAY_SLOT) % self.slots

    def rate(self, ordinal: int) -> float | None:
        """The usual rate of a slot; None if neither it nor its neighbours were seen."""
        total = weight = 0.0
        for offset, share in _KERNEL:
            known = self.rates.get(self.slot(ordinal + offset))
            if known is not None:
                total += share * known
                weight += share
        return total / weight if weight else None

    def highest(self, first: int, last: int) -> float | None:
        """The highest usual rate of some slots in a row."""
        known = [rate for ordinal in range(first, last + 1) if (rate := self.rate(ordinal)) is not None]
        return max(known, default=None)


def slot_of(at: float) -> int:
    """The number of the slot that a moment, in seconds since the epoch, belongs to."""
    return int(at // SLOT_SECONDS)

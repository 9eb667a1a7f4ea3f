"""What the model says at one moment, frozen: the floor that is needed, and the numbers that it follows from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WaitFloor:
    """A wait target and the floor that keeps 99 % of waits within it."""

    wait_seconds: float
    floor: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """Numbers of claims and seconds; floors are claims that find a worker, before slots and bounds."""

    base: str  # which forecast the usual rate comes from
    usual_rate: float  # claims a second
    correction_rate: float  # added to it, by recent claims
    correction_seconds: float  # over which they were counted; 0 without a correction
    start_seconds: float | None  # mean of the starts; None while none was seen
    window_seconds: float  # mean of what a start takes beyond the wait target
    expected: float  # claims within the window
    needed: int  # floor for the target
    highest: int  # floor that was needed in the last `scaleDownAfter`
    late_share: float  # of claims that the floor is planned for, now
    quiet: bool  # no claim came for `scaleDownAfter`, and none is expected
    wait_p99: float | None = None  # of recent claims
    hold_seconds: float | None = None  # mean
    waits: tuple[WaitFloor, ...] = ()  # by rising wait

    @property
    def rate(self) -> float:
        """Claims a second that are expected."""
        return max(0.0, self.usual_rate + self.correction_rate)

    def predict_wait(self, floor: int) -> float:
        """The wait that 99 % of the claims stay within, with a floor; that of the longest start without one."""
        return next((one.wait_seconds for one in self.waits if one.floor <= floor), self.waits[-1].wait_seconds)

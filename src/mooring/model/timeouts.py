"""The order of all timeouts, asserted at start: a shorter one inside a longer one, or nothing starts.

Most of the outages Mooring exists for were two timers in the wrong order.
"""

from dataclasses import dataclass, fields, replace

from mooring.model.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Every constant that must stand in an order, in seconds."""

    api_request: float = 30.0
    statement: float = 10.0
    replica_heartbeat: float = 5.0
    replica_dead: float = 20.0
    watch_silence: float = 150.0  # bookmarks come about once a minute, and shortly before a watch ends
    watch_life: float = 300.0  # a watch ends by itself after one to two of these
    guard_period: float = 2.0
    claim_check: float = 5.0
    worker_word: float = 60.0  # for how long the last word of a worker counts
    reap_period: float = 60.0
    reap_grace: float = 300.0
    overlay_expiry: float = 300.0
    claim_progress: float = 300.0
    claim_lost_grace: float = 600.0
    node_debounce: float = 60.0
    shutdown: float = 15.0

    def hurried(self, times: float) -> "Timeouts":
        """Everything so many times shorter, in the same order: for replays against a cluster that has only real time.

        Watches then end in good order before they count as silent, as no API server sends bookmarks any faster.
        """
        if times == 1:
            return self
        shorter = {field.name: getattr(self, field.name) / times for field in fields(self)}
        return replace(self, **{**shorter, "watch_life": shorter["watch_silence"] / 2.5})


_ORDER: tuple[tuple[str, str, str], ...] = (
    ("replica_heartbeat", "replica_dead", "a live replica must beat several times before it counts as dead"),
    ("statement", "replica_dead", "a hanging statement must fail before its replica counts as dead"),
    ("statement", "api_request", "a request holds a statement, not the other way round"),
    ("api_request", "watch_silence", "a slow request is not a silent watch"),
    ("watch_silence", "reap_grace", "a silent watch must be noticed before anything is reaped by its cache"),
    ("worker_word", "reap_grace", "what a worker said before it was stamped must not count against the stamp"),
    ("claim_check", "claim_progress", "a claim is looked at several times before it counts as stuck"),
    ("reap_period", "reap_grace", "a grace shorter than a period is no grace"),
    ("guard_period", "reap_period", "protection is set long before anything is reaped"),
    ("reap_grace", "claim_lost_grace", "a claim outlives the doubt about its pod"),
    ("replica_dead", "reap_grace", "a dead replica's claims are adopted before they could be reaped"),
    ("node_debounce", "reap_grace", "a flapping node settles before anything on it is reaped"),
)


def assert_order(timeouts: Timeouts) -> None:
    """Raise `Misconfigured` naming both timeouts when one stands before another it must not precede."""
    for field in fields(timeouts):
        if getattr(timeouts, field.name) <= 0:
            raise Misconfigured(f"timeout {field.name} must be above zero")
    for shorter, longer, why in _ORDER:
        low, high = getattr(timeouts, shorter), getattr(timeouts, longer)
        if not low < high:
            raise Misconfigured(f"{shorter} ({low} s) must be shorter than {longer} ({high} s): {why}")

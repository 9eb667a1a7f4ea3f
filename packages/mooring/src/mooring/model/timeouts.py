"""All timeouts, and their required order, which is checked at start.

Most of the incidents that Mooring replays had two timers in the wrong order.
"""

from dataclasses import dataclass, fields, replace

from hawser.transport import REQUEST_SECONDS
from mooring.model.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Every timeout that has a required order, in seconds."""

    api_request: float = REQUEST_SECONDS
    statement: float = 5.0
    replica_heartbeat: float = 2.0
    replica_dead: float = 7.0  # with the heartbeat before it, a successor leads within 10 s
    leader_stale: float = 10.0  # a leader that has not seen the cluster for so long gives up leading
    watch_silence: float = 150.0  # bookmarks come about once a minute, and shortly before a watch ends
    watch_life: float = 300.0  # a watch ends after one to two times this
    guard_period: float = 2.0
    claim_check: float = 5.0
    worker_report: float = 60.0  # how long the last report of a worker counts
    liveness_flush: float = 10.0  # how often a replica writes signs of life to the ledger
    reap_period: float = 60.0
    reap_grace: float = 300.0
    overlay_expiry: float = 300.0
    client_sign: float = 3.0  # how often signs of life of waiting clients are written
    client_gone: float = 20.0  # a waiting client without a sign of life for so long is gone
    claim_progress: float = 300.0
    claim_lost_grace: float = 600.0
    node_debounce: float = 60.0
    shutdown: float = 15.0

    def hurried(self, times: float) -> "Timeouts":
        """All timeouts divided by `times`, in the same order: for replays against a real cluster in real time.

        Watches then end before they count as silent, because an API server does not send bookmarks any faster. Leases
        keep a floor, because processes are not scheduled any faster.
        """
        if times == 1:
            return self
        shorter = {field.name: getattr(self, field.name) / times for field in fields(self)}
        leases = {name: max(shorter[name], floor) for name, floor in _LEASE_FLOORS.items()}
        return replace(self, **{**shorter, **leases, "watch_life": shorter["watch_silence"] / 2.5})


_LEASE_FLOORS = {"replica_heartbeat": 0.3, "replica_dead": 1.4, "leader_stale": 2.0}

_ORDER: tuple[tuple[str, str, str], ...] = (
    ("replica_heartbeat", "replica_dead", "a live replica must beat several times before it counts as dead"),
    ("statement", "replica_dead", "a hanging statement must fail before its replica counts as dead"),
    ("replica_heartbeat", "leader_stale", "a leader asks the API server several times before it gives up"),
    ("leader_stale", "watch_silence", "an API server that does not answer is noticed before its watches are silent"),
    ("statement", "api_request", "a request holds a statement, not the other way round"),
    ("api_request", "watch_silence", "a slow request is not a silent watch"),
    ("watch_silence", "reap_grace", "a silent watch must be noticed before anything is reaped by its cache"),
    ("worker_report", "reap_grace", "what a worker reported before it was stamped must not count against the stamp"),
    ("liveness_flush", "worker_report", "a report must reach all replicas while it counts"),
    ("client_sign", "client_gone", "a waiting client gives several signs of life before it counts as gone"),
    ("statement", "client_gone", "a hanging statement must fail before clients count as gone"),
    ("client_gone", "claim_progress", "a client has the time of a handover to come back"),
    ("claim_check", "claim_progress", "a claim is looked at several times before it counts as stuck"),
    ("reap_period", "reap_grace", "a grace shorter than the period has no effect"),
    ("guard_period", "reap_period", "protection is set long before anything is reaped"),
    ("reap_grace", "claim_lost_grace", "a worker is reaped before a claim of it counts as lost"),
    ("replica_dead", "reap_grace", "a dead replica's claims are adopted before they could be reaped"),
    ("node_debounce", "reap_grace", "a flapping node settles before anything on it is reaped"),
)


def assert_order(timeouts: Timeouts) -> None:
    """Raise `Misconfigured` with both names if a timeout is not shorter than another that it must be shorter than."""
    for field in fields(timeouts):
        if getattr(timeouts, field.name) <= 0:
            raise Misconfigured(f"timeout {field.name} must be above zero")
    for shorter, longer, why in _ORDER:
        low, high = getattr(timeouts, shorter), getattr(timeouts, longer)
        if not low < high:
            raise Misconfigured(f"{shorter} ({low} s) must be shorter than {longer} ({high} s): {why}")

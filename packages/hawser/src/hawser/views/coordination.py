"""Leases, events and disruption budgets."""

from datetime import datetime

from hawser.views.base import Condition, LabelSelector, Object, Time, View
from hawser.views.network import TargetReference


class LeaseSpec(View, frozen=True):
    """Who holds a Lease, and since when. Every field may be missing: a released Lease has no holder."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: Time | None = None
    renew_time: Time | None = None
    lease_transitions: int = 0


class Lease(Object, frozen=True):
    """A Lease."""

    spec: LeaseSpec = LeaseSpec()


class EventSource(View, frozen=True):
    """Who saw it."""

    component: str = ""
    host: str = ""


class EventSeries(View, frozen=True):
    """The repetitions of an event."""

    count: int = 0
    last_observed_time: Time | None = None


class Event(Object, frozen=True):
    """Something that happened to an object. `type` is Normal or Warning."""

    involved_object: TargetReference = TargetReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    action: str = ""
    count: int = 0
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None
    event_time: Time | None = None
    source: EventSource = EventSource()
    reporting_component: str = ""
    series: EventSeries | None = None

    @property
    def last_seen(self) -> datetime | None:
        """The newest of the times that its writer filled in."""
        repeated = self.series.last_observed_time if self.series else None
        seen = (repeated, self.last_timestamp, self.event_time, self.first_timestamp, self.metadata.creation_timestamp)
        return max((moment for moment in seen if moment), default=None)


class BudgetSpec(View, frozen=True):
    """What a budget demands. `None` selects no pods, an empty selector selects all of the namespace."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class BudgetStatus(View, frozen=True):
    """What a budget allows now."""

    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Object, frozen=True):
    """A PodDisruptionBudget."""

    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()

"""All queries together, for pages that show several kinds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from mooring.queries.doctor import Doctor
from mooring.queries.explain import Explainer
from mooring.queries.fleet import FleetQueries
from mooring.queries.inspection import Inspection
from mooring.queries.pods import PodQueries
from mooring.queries.pool_history import HistoryQueries
from mooring.queries.services import ServiceQueries
from mooring.queries.submissions import SubmissionQueries
from mooring.queries.visibility import Visibility
from mooring.queries.warmups import WarmupQueries


@dataclass(frozen=True, slots=True)
class Readings:
    """All queries; pages take what they show."""

    fleet: FleetQueries
    services: ServiceQueries
    warmups: WarmupQueries
    submissions: SubmissionQueries
    inspection: Inspection
    explainer: Explainer
    doctor: Doctor

    @property
    def history(self) -> HistoryQueries:
        """The history of pools."""
        return self.inspection.history

    @property
    def pods(self) -> PodQueries:
        """Logs and events."""
        return self.explainer.pods

    def namespaces(self) -> Mapping[str, Callable[[], Iterable[str]]]:
        """By resource: the namespaces in which some are."""
        return {
            "workerpools": self.fleet.namespaces,
            "warmups": self.warmups.namespaces,
            "submissions": self.submissions.namespaces,
            "managedservices": self.services.namespaces,
        }

    def within(self, visibility: Visibility) -> Self:
        """The same queries, limited to what a reader may see."""
        return replace(
            self,
            fleet=self.fleet.within(visibility),
            services=self.services.within(visibility),
            warmups=self.warmups.within(visibility),
            submissions=self.submissions.within(visibility),
            inspection=self.inspection.within(visibility),
        )

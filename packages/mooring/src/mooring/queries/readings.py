"""All queries together, for pages that show several kinds."""

from dataclasses import dataclass

from mooring.queries.doctor import Doctor
from mooring.queries.explain import Explainer
from mooring.queries.fleet import FleetQueries
from mooring.queries.inspection import Inspection
from mooring.queries.services import ServiceQueries
from mooring.queries.submissions import SubmissionQueries
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

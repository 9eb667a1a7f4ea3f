"""All replays by name."""

from mooring.incidents.control_plane_failover import ControlPlaneFailover
from mooring.incidents.drift_roll import DriftRoll
from mooring.incidents.half_finished_submit import HalfFinishedSubmit
from mooring.incidents.incident import Incident
from mooring.incidents.leaked_stamps import LeakedStamps
from mooring.incidents.node_rotation import NodeRotation
from mooring.incidents.permission_lag import PermissionLag
from mooring.incidents.unschedulable_service import UnschedulableService
from mooring.model.errors import NotFound
from mooring.model.suggestions import suggest

INCIDENTS: tuple[Incident, ...] = (
    LeakedStamps(),
    DriftRoll(),
    ControlPlaneFailover(),
    NodeRotation(),
    PermissionLag(),
    UnschedulableService(),
    HalfFinishedSubmit(),
)
EVERY = "all"


def find_incidents(name: str) -> tuple[Incident, ...]:
    """The replay of that name, or all of them; `NotFound` suggests a name."""
    if name == EVERY:
        return INCIDENTS
    found = tuple(incident for incident in INCIDENTS if incident.name == name)
    if not found:
        known = [*(incident.name for incident in INCIDENTS), EVERY]
        raise NotFound(f"there is no replay {name!r}", fix=suggest(name, known, "replays"))
    return found

"""All replays that exist, by name."""

from difflib import get_close_matches

from mooring.incidents.control_plane_failover import ControlPlaneFailover
from mooring.incidents.drift_roll import DriftRoll
from mooring.incidents.half_finished_submit import HalfFinishedSubmit
from mooring.incidents.incident import Incident
from mooring.incidents.leaked_stamps import LeakedStamps
from mooring.incidents.node_rotation import NodeRotation
from mooring.incidents.permission_lag import PermissionLag
from mooring.incidents.unschedulable_service import UnschedulableService
from mooring.model.errors import NotFound

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
    """The one of that name, or every one; `NotFound` says what was probably meant."""
    if name == EVERY:
        return INCIDENTS
    found = tuple(incident for incident in INCIDENTS if incident.name == name)
    if not found:
        known = [incident.name for incident in INCIDENTS]
        close = get_close_matches(name, known, n=1)
        meant = f"did you mean {close[0]!r}? " if close else ""
        raise NotFound(f"there is no replay {name!r}", fix=f"{meant}replays that exist: {', '.join(known)}, {EVERY}")
    return found

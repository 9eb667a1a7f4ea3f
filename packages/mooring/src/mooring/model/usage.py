"""The use of workers: worker-seconds by day, pool, owner and state."""

from datetime import date

import msgspec

IDLE, BUSY, STARTING = "idle", "busy", "starting"
NOBODY = ""


class UsageRow(msgspec.Struct, frozen=True, order=True):
    """Workers that nobody holds have no owner."""

    day: date
    namespace: str
    pool: str
    owner: str
    state: str
    seconds: float

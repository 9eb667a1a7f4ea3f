"""Would this pod find a node, and if not: why, and what is the smallest change that helps?"""

from mooring.planning.fit.preflight import plan_preflight, preflight
from mooring.planning.fit.usage import UNREAD, Usage

__all__ = ["UNREAD", "Usage", "plan_preflight", "preflight"]

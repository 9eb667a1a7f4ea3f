"""Preflight: whether a pod fits on some node, and if not, why and which smallest change helps."""

from mooring.planning.fit.preflight import plan_preflight, preflight
from mooring.planning.fit.usage import UNREAD, Usage

__all__ = ["UNREAD", "Usage", "plan_preflight", "preflight"]

"""How long ago, the way kubectl shows it: `45s`, `3m20s`, `5h`, `12d`."""

from datetime import datetime
from typing import Any

UNKNOWN = "<unknown>"


def human_duration(seconds: float) -> str:
    """A duration in at most two units, coarser as it grows."""
    whole = int(seconds)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < -1:
        return "<invalid>"
    if whole < 120:
        return f"{max(whole, 0)}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def parse_time(text: str) -> datetime | None:
    """A timestamp of the API; None when it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def since(timestamp: Any, now: datetime) -> str:
    """The age of a timestamp field."""
    moment = parse_time(timestamp) if isinstance(timestamp, str) else None
    return UNKNOWN if moment is None else human_duration((now - moment).total_seconds())

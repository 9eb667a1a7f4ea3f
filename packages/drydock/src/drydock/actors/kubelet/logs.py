"""What the query of /containerLogs asks for."""

from collections.abc import Mapping
from datetime import datetime

from drydock.runtime.logs import LogRequest
from hawser.errors import InvalidInput


def log_request(query: Mapping[str, str]) -> LogRequest:
    """What a query string asks for; raises `InvalidInput` naming the parameter."""
    since = query.get("sinceTime")
    try:
        since_time = datetime.fromisoformat(since) if since else None
    except ValueError as error:
        raise InvalidInput("sinceTime", since, "an RFC 3339 time") from error
    return LogRequest(
        previous=_flag(query, "previous"),
        follow=_flag(query, "follow"),
        timestamps=_flag(query, "timestamps"),
        tail_lines=_number(query, "tailLines"),
        limit_bytes=_number(query, "limitBytes"),
        since_seconds=_number(query, "sinceSeconds"),
        since_time=since_time,
    )


def _flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not text.isdigit():
        raise InvalidInput(name, text, "a whole number, 0 or more")
    return int(text)

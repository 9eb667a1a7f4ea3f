"""Queries with a known answer and an adjustable length, and the client for a worker."""

import http.client
import json
from typing import Any

BUCKETS = 8
_SAMPLE_ROWS = 2_000_000


class QueryDied(Exception):
    """The worker stopped during a query, or refused it."""


def ask(address: str, port: int, sql: str, timeout_seconds: float = 600.0) -> dict[str, Any]:
    """Run one query on a worker; `QueryDied` if it does not finish."""
    connection = http.client.HTTPConnection(address, port, timeout=timeout_seconds)
    try:
        connection.request("POST", "/query", json.dumps({"sql": sql}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise QueryDied(repr(error)) from error
    finally:
        connection.close()
    if answer.status != 200:
        raise QueryDied(f"{answer.status}: {body.get('error')}")
    return dict(body)


def heavy_sql(rows: int) -> str:
    """Counts and adds up numbers by bucket; computing the digest of each takes the time."""
    return (
        f"SELECT i % {BUCKETS} AS bucket, count(*) AS n, sum(i)::BIGINT AS total, max(md5(i::VARCHAR)) AS digest "
        f"FROM range({rows}) AS numbers(i) GROUP BY bucket ORDER BY bucket"
    )


def expected(rows: int) -> list[tuple[int, int, int]]:
    """Bucket, count and sum, computed without a database."""
    found = []
    for bucket in range(BUCKETS):
        count = len(range(bucket, rows, BUCKETS))
        found.append((bucket, count, count * bucket + BUCKETS * count * (count - 1) // 2))
    return found


def calibrate(address: str, port: int, seconds: float) -> int:
    """The number of rows that keep a worker busy for about this long."""
    sample = float(ask(address, port, heavy_sql(_SAMPLE_ROWS))["seconds"])
    return max(_SAMPLE_ROWS, int(_SAMPLE_ROWS * seconds / max(sample, 0.01)))

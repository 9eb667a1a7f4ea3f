"""`mooring status`: the state of the whole fleet on about ten lines, and the command to run next."""

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NoReturn

from hawser.clock import SystemClock
from mooring import __version__
from mooring.cli.failures import FAILED, OK
from mooring.cli.output import Format, Row, clear_terminal, print_line, show_one, terminal_width
from mooring.cli.remote.columns import capacity_bar, find_condition
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import RemoteError
from mooring.model.time_format import describe_span

POOLS_SHOWN = 4
_LEAST_NAME = 20  # characters that a name of a pool keeps
_BROKEN = "broken"
_HEALTH = ("fail", "warn", "ok")
_WORDS = {"fail": "broken", "warn": "degraded", "ok": "healthy", "unknown": "unknown"}
_COUNTS = ("idle", "busy", "starting", "draining", "lost")


def run_status(endpoint: Endpoint, output: Format) -> int:
    """Print the status; returns the exit code, which is 1 while a check of the doctor fails."""
    found = _read_status(endpoint)
    wide = output is Format.WIDE
    most, width = (len(found["pools"]), None) if wide else (POOLS_SHOWN, terminal_width())
    show_one("Status", found, output, found["health"], lambda: _print_status(found, pools_shown=most, width=width))
    return FAILED if found["health"] == _WORDS["fail"] else OK


def run_top(endpoint: Endpoint, interval_seconds: float) -> NoReturn:
    """Print the status and all pools repeatedly, until it is interrupted."""
    pause = threading.Event()
    while True:
        found = _read_status(endpoint)
        clear_terminal()
        _print_status(found, pools_shown=len(found["pools"]), width=terminal_width())
        sys.stdout.flush()
        pause.wait(interval_seconds)


def _read_status(endpoint: Endpoint) -> Row:
    connection = Connection(endpoint)
    pools = connection.get("/v1/pools")["items"]
    status = compute_status(_read_checks(connection), pools, _read_queue(connection), SystemClock().now())
    return {"url": endpoint.url, "version": __version__, **status}


def _read_checks(connection: Connection) -> Sequence[Row] | None:
    """The checks of the doctor; None for a caller who may not read them."""
    try:
        checks: Sequence[Row] = connection.get("/v1/doctor")["checks"]
    except RemoteError as error:
        if error.status != 403:
            raise
        return None
    return checks


def _read_queue(connection: Connection) -> Row | None:
    """The claims that wait; None while the ledger does not answer, which a check of the doctor reports."""
    try:
        found: Row = connection.get("/v1/claims", {"state": "queued", "limit": "1000"})
    except RemoteError as error:
        if error.status != 503:
            raise
        return None
    return found


def compute_status(checks: Sequence[Row] | None, pools: Sequence[Row], queued: Row | None, now: datetime) -> Row:
    """Health, pools with the sickest first, the queue, the worst problem, and the command that shows more of it.

    `queued` is None where the queue cannot be read: its numbers are null.
    """
    counts = None if checks is None else {word: _count(checks, word) for word in (*_HEALTH, "unknown")}
    worst = None if counts is None else next((word for word in _HEALTH if counts[word]), "unknown")
    shown = sorted((_read_pool(pool) for pool in pools), key=_sickness)
    problem = _find_problem(checks or (), shown)
    queue = _summarize_queue(queued, now)
    return {
        "health": _WORDS[worst or "unknown"],
        "checks": counts,
        "pools": shown,
        "queue": queue,
        "problem": problem,
        "next": _next_command(problem, pools, queue["claims"] or 0),
    }


def _summarize_queue(queued: Row | None, now: datetime) -> Row:
    if queued is None:
        return {"claims": None, "oldest": None, "longestSeconds": None}
    oldest = min((claim["createdAt"] for claim in queued["items"]), default=None)
    longest = 0 if oldest is None else round((now - datetime.fromisoformat(oldest)).total_seconds())
    return {"claims": queued["total"], "oldest": oldest, "longestSeconds": longest}


def _count(checks: Sequence[Row], status: str) -> int:
    return sum(check["status"] == status for check in checks)


def _read_pool(pool: Row) -> Row:
    status, verdict = pool["status"], pool.get("verdict") or {"state": "unknown"}  # older servers send none
    return {
        "namespace": pool["namespace"],
        "name": pool["name"],
        "max": pool["spec"]["max"],
        **{count: status.get(count, 0) for count in (*_COUNTS, "queued")},
        "ready": find_condition(pool, "Ready").get("status", "Unknown"),
        "why": pool["why"],
        "broken": verdict["cause"] if verdict["state"] == _BROKEN else None,
    }


def _sickness(pool: Row) -> tuple[bool, bool, bool]:
    """Broken pools first, then those that are not ready, then those without an idle worker."""
    return pool["broken"] is None, pool["ready"] != "False", pool["idle"] > 0


def _find_problem(checks: Sequence[Row], pools: Sequence[Row]) -> Row | None:
    """The first failing check, else a broken pool, else the first warning, else a pool that is not ready."""
    broken = [pool for pool in pools if pool["broken"] is not None]
    unready = [pool for pool in pools if pool["ready"] == "False"]
    problems = [
        *(_read_check(check) for check in checks if check["status"] == "fail"),
        *(_read_problem(pool) for pool in broken),
        *(_read_check(check) for check in checks if check["status"] == "warn"),
        *(_read_problem(pool) for pool in unready),
    ]
    return problems[0] if problems else None


def _read_check(check: Row) -> Row:
    message = check["message"].removeprefix(f"{check['id'].partition('/')[2]} ")  # the id names the object already
    return {"status": check["status"], "id": check["id"], "message": message, "fix": check["fix"]}


def _read_problem(pool: Row) -> Row:
    why = pool["why"] or {}
    found, message = f"pool/{pool['namespace']}/{pool['name']}", pool["broken"] or why.get("message", "")
    return {"status": "warn", "id": found, "message": message, "fix": why.get("fix", "")}


def _next_command(problem: Row | None, pools: Sequence[Row], queued: int) -> str:
    if problem is not None:
        return f"mooring explain {problem['id']}" if problem["id"].startswith("pool/") else "mooring doctor"
    if queued:
        return "mooring claims --only queued"
    return "mooring workers" if pools else "mooring submit --help"


def _print_status(status: Row, *, pools_shown: int, width: int | None) -> None:
    """Lines end with the terminal, but for the fix: people copy it."""

    def cut(line: str) -> str:
        return line if width is None or len(line) <= width else f"{line[: width - 1]}…"

    print_line(cut(f"health   {status['health']}{_describe_checks(status['checks'])}; {status['url']}"))
    pools = status["pools"]
    shown = pools[:pools_shown]
    for index, line in enumerate(_pool_lines(shown, width)):
        print_line(cut(f"{'' if index else 'pools':8} {line}"))
    if len(pools) > len(shown):
        print_line(f"{'':8} and {len(pools) - len(shown)} more, see 'mooring pools'")
    if not pools:
        print_line("pools    none")
    print_line(f"queue    {_describe_queue(status['queue'])}")
    if problem := status["problem"]:
        print_line(cut(f"problem  {problem['id']}: {problem['message']}"))
        if problem["fix"]:
            print_line(f"fix      {problem['fix']}")
    else:
        print_line("problem  none")
    print_line(f"next     {status['next']}")


def _pool_lines(pools: Sequence[Row], width: int | None) -> Iterator[str]:
    """Names, bars and counts of pools. Where the terminal is too narrow, the middle of long names is left out."""
    names = [f"{pool['namespace']}/{pool['name']}" for pool in pools]
    ends = []
    for pool in pools:
        bar = capacity_bar(pool["busy"], sum(pool[state] for state in _COUNTS), pool["max"])
        ends.append(f"{bar}  {_describe_pool(pool)}")
    longest = max(map(len, names), default=0)
    if width is not None:
        longest = min(longest, max(_LEAST_NAME, width - len("pools      ") - max(map(len, ends), default=0)))
    for name, end in zip(names, ends, strict=True):
        half = longest // 2
        kept = name if len(name) <= longest else f"{name[: longest - half - 1]}…{name[-half:]}"
        yield f"{kept:{longest}}  {end}"


def _describe_checks(counts: Mapping[str, int] | None) -> str:
    if counts is None:
        return " (the doctor's checks are not readable for you)"
    bad = ", ".join(f"{counts[status]} {status}" for status in ("fail", "warn", "unknown") if counts[status])
    return f": {bad} of {sum(counts.values())} checks" if bad else f": {sum(counts.values())} checks ok"


def _describe_pool(pool: Row) -> str:
    counts = ", ".join(f"{pool[state]} {state}" for state in _COUNTS if pool[state]) or "no workers"
    queued = f", {pool['queued']} queued" if pool["queued"] else ""
    verdict = ", broken" if pool["broken"] is not None else ", not ready" if pool["ready"] == "False" else ""
    return f"{counts}{queued}; max {pool['max']}{verdict}"


def _describe_queue(queue: Row) -> str:
    if queue["claims"] is None:
        return "unknown: the ledger does not answer"
    if not queue["claims"]:
        return "empty"
    claims = "1 claim waits" if queue["claims"] == 1 else f"{queue['claims']} claims wait"
    return f"{claims}, the oldest for {describe_span(queue['longestSeconds'])}"

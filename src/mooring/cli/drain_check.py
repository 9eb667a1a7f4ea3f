"""`drain-check`: what would happen if a node went now, for people and for scripts."""

import sys
from urllib.parse import quote

from mooring.cli.failures import FAILED
from mooring.cli.output import Column, Format, Row, printable, show_one, show_table
from mooring.client.connection import Connection, Endpoint

_STYLES = {"waits": "yellow", "finishes": "green", "rebound": "magenta", "lost": "bold red"}
_COLUMNS = (
    Column("CLAIM", lambda row: row["claim"]),
    Column("OWNER", lambda row: row["owner"]),
    Column("WORKER", lambda row: row["worker"]),
    Column("RUNNING", lambda row: f"{row['runningSeconds']} s"),
    Column("PROTECTED UNTIL", lambda row: row["protectedUntil"]),
    Column("WOULD BE", lambda row: row["wouldBe"], style=lambda row: _STYLES.get(row["wouldBe"], "")),
    Column("BECAUSE", lambda row: row["because"]),
    Column("POOL", lambda row: row["pool"], wide=True),
    Column("RETRYABLE", lambda row: "yes" if row["retryable"] else "no", wide=True),
)


def run_drain_check(node: str, endpoint: Endpoint, form: Format) -> None:
    """Print the answer; exit 1 when work would be lost, or when nobody knows."""
    answer = Connection(endpoint).get(f"/v1/drain-check/{quote(node, safe='')}", {})
    show_one("DrainCheck", answer, form, f"node/{answer['node']}", lambda: _tell(answer, form))
    if answer["verdict"] in ("loses", "unknown"):
        sys.exit(FAILED)


def _tell(answer: Row, form: Format) -> None:
    print(printable(f"{answer['node']}: {answer['verdict']}. {answer['message']}"))
    if answer["draining"]:
        print(printable(f"  drains already: {answer['draining']}"))
    idle, sudden = answer["idle"], answer["suddenly"]
    print(f"  {len(idle)} worker(s) that nobody holds" + (": replaced elsewhere" if idle else ""))
    if sudden["lost"] or sudden["rebound"]:
        print(f"  without a drain (a machine that dies): {sudden['lost']} lost, {sudden['rebound']} rebound")
    for queue in answer["queues"]:
        told = f"{queue['waiting']} wait for {queue['pool']}, {queue['idleElsewhere']} idle elsewhere"
        print(printable(f"  {told}"))
    if answer["claims"]:
        show_table(answer["claims"], _COLUMNS, wide=form is Format.WIDE)
    print(printable(f"fix: {answer['fix']}"), file=sys.stderr)

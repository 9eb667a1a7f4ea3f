"""`mooring drain-check`: what a drain of a node would do to each session now."""

import sys
from urllib.parse import quote

from mooring.cli.failures import FAILED
from mooring.cli.output import Column, Format, Row, print_line, printable, show_one, show_table
from mooring.client.connection import Connection, Endpoint

_STYLES = {"waits": "yellow", "finishes": "green", "rebound": "magenta", "lost": "bold red"}
_COLUMNS = (
    Column("CLAIM", lambda row: row["claim"], beginning=8),
    Column("OWNER", lambda row: row["owner"]),
    Column("WORKER", lambda row: row["worker"]),
    Column("RUNNING", lambda row: f"{row['runningSeconds']} s"),
    Column("PROTECTED UNTIL", lambda row: row["protectedUntil"]),
    Column("WOULD BE", lambda row: row["wouldBe"], style=lambda row: _STYLES.get(row["wouldBe"], "")),
    Column("BECAUSE", lambda row: row["because"], text=True),
    Column("POOL", lambda row: row["pool"], wide=True),
    Column("RETRYABLE", lambda row: "yes" if row["retryable"] else "no", wide=True),
)


def run_drain_check(node: str, endpoint: Endpoint, output: Format) -> None:
    """Print the answer; exits with 1 when work would be lost, or when that is not known."""
    answer = Connection(endpoint).get(f"/v1/drain-check/{quote(node, safe='')}", {})
    show_one("DrainCheck", answer, output, f"node/{answer['node']}", lambda: _print_answer(answer, output))
    if answer["verdict"] in ("loses", "unknown"):
        sys.exit(FAILED)


def _print_answer(answer: Row, output: Format) -> None:
    print_line(f"{answer['node']}: {answer['verdict']}. {answer['message']}")
    if answer["draining"]:
        print_line(f"  already draining: {answer['draining']}")
    sudden = answer["suddenly"]
    idle = [row for row in answer["idle"] if row["state"] in ("idle", "starting")]
    print(f"  {len(idle)} idle worker(s)" + (": replaced on other nodes" if idle else ""))
    for row in answer["idle"]:
        if row not in idle:
            print_line(f"  {row['namespace']}/{row['name']} {row['state']}: {row['wouldBe']}")
    if sudden["lost"] or sudden["rebound"]:
        print(f"  on a sudden loss of the node: {sudden['lost']} lost, {sudden['rebound']} rebound")
    for queue in answer["queues"]:
        print_line(
            f"  {queue['waiting']} claims wait for {queue['pool']}; idle on other nodes: {queue['idleElsewhere']}"
        )
    if answer["claims"]:
        show_table(answer["claims"], _COLUMNS, wide=output is Format.WIDE)
    print(printable(f"fix: {answer['fix']}"), file=sys.stderr)

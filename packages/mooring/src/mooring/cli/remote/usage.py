"""`mooring usage`: worker-hours by day, pool and owner, and what they cost."""

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from mooring.cli.output import Column, Format, Row, print_line, show_list
from mooring.client.connection import Connection, Endpoint

_FIELDS = ("day", "namespace", "pool", "owner", "idleHours", "busyHours", "startingHours", "cost")
_COLUMNS = (
    Column("DAY", lambda row: row["day"]),
    Column("NAMESPACE", lambda row: row["namespace"]),
    Column("POOL", lambda row: row["pool"]),
    Column("OWNER", lambda row: row["owner"] or "-"),
    Column("IDLE H", lambda row: f"{row['idleHours']:.2f}"),
    Column("BUSY H", lambda row: f"{row['busyHours']:.2f}"),
    Column("STARTING H", lambda row: f"{row['startingHours']:.2f}"),
)
_COST = Column("COST", lambda row: f"{row['cost']:.2f}")


@dataclass(frozen=True, slots=True)
class UsageCommand:
    """The arguments of `usage`."""

    days: int
    price: float | None
    csv: bool


def run_usage(asked: UsageCommand, endpoint: Endpoint, output: Format) -> None:
    """Print the rows and, as a table, their sum and what other wait targets would cost."""
    connection = Connection(endpoint)
    query = {"days": str(asked.days)} | ({} if asked.price is None else {"price": str(asked.price)})
    report = connection.get("/v1/usage", query)
    rows: Sequence[Row] = report["items"]
    if asked.csv:
        writer = csv.DictWriter(sys.stdout, _FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return
    columns = _COLUMNS if asked.price is None else (*_COLUMNS, _COST)
    show_list("UsageList", rows, columns, output, lambda row: f"pool/{row['namespace']}/{row['pool']}")
    if output not in (Format.TABLE, Format.WIDE):
        return
    cost = "" if report["cost"] is None else f", cost {report['cost']:.2f}"
    print_line(
        f"{report['since']} to {report['until']}: {report['idleHours']:.2f} idle, {report['busyHours']:.2f} busy, "
        f"{report['startingHours']:.2f} starting worker-hours{cost}"
    )
    if asked.price is not None:
        _print_targets(connection, asked.price)


def _print_targets(connection: Connection, price: float) -> None:
    """What keeping 99 % of waits within other targets would cost an hour, at the present rate of claims."""
    for pool in connection.get("/v1/pools")["items"]:
        if not pool["spec"].get("demand"):
            continue
        key = f"{pool['namespace']}/{pool['name']}"
        shown, last = [], -1
        for target in connection.get(f"/v1/pools/{key}/demand")["targets"]:
            if target["idle"] != last:
                last = target["idle"]
                shown.append(f"{target['waitSeconds']:g} s: {last} idle ({last * price:.2f} an hour)")
        print_line(f"pool/{key}: 99 % of waits within " + (", ".join(shown) or "...: nothing is learnt yet"))

"""`mooring demand simulate`: the planner of demand beside fixed floors, on recorded or made arrivals."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from hawser.clock import Entropy
from mooring.cli.failures import fail
from mooring.cli.output import Column, Format, Row, show_table
from mooring.client.connection import Connection, Endpoint
from mooring.model.demand import Demand, check_demand
from mooring.model.duration import parse_short_duration
from mooring.model.errors import InvalidInput, Misconfigured, Refused
from mooring.simulation.bars import TRACES, describe_bar, meets_bar
from mooring.simulation.comparison import Comparison, compare
from mooring.simulation.drawing import draw
from mooring.simulation.runs import Setting
from mooring.simulation.trace_files import read_trace
from mooring.simulation.traces import DAY, SYNTHETIC, Trace

EVERY = "all"
MOST = 2000
USUAL_STARTS = (2.0, 40.0)
_COLUMNS = (  # numbers as text: a column of zeros says something here
    Column("TRACE", lambda row: row["trace"]),
    Column("START", lambda row: f"{row['startSeconds']:g} s"),
    Column("CLAIMS", lambda row: str(row["claims"])),
    Column("IN TIME", lambda row: f"{row['inTime']:.2%}"),
    Column("IDLE H", lambda row: f"{row['idleHours']:.1f}"),
    Column("BEST FIXED", lambda row: str(row["bestFloor"])),
    Column("ITS IDLE H", lambda row: f"{row['bestIdleHours']:.1f}"),
    Column("COST", lambda row: "-" if row["cost"] is None else f"{row['cost']:.2f} x"),
    Column("LATE", lambda row: str(row["late"])),
    Column("LATE AT EQUAL COST", lambda row: f"{row['equalLate']:.0f}"),
    Column("TURNS/H", lambda row: f"{row['turnsAnHour']:.1f}"),
)


_BAR = Column("BAR", lambda row: "met" if row["meetsBar"] else "missed")


class BarMissed(Refused):
    """The planner does not reach what it has to."""

    code = "bar_missed"


@dataclass(frozen=True, slots=True)
class SimulateCommand:
    """The arguments of `demand simulate`."""

    trace: Path | None
    from_ledger: str
    synthetic: str
    demand: Demand
    starts: tuple[str, ...]
    learn: str
    seed: int
    svg: Path | None
    output: Format
    bars: bool = False


@dataclass(frozen=True, slots=True)
class Played:
    """A trace with its name and length, and the start that was measured, if any."""

    name: str
    trace: Trace
    seconds: float
    start_seconds: float | None = None


def run_simulation(asked: SimulateCommand, endpoint: Callable[[], Endpoint]) -> None:
    """Play, and print one row for each trace and start time."""
    if asked.output not in (Format.TABLE, Format.JSON):
        raise InvalidInput("--output", asked.output.value, "table or json")
    if problems := check_demand(asked.demand, MOST):
        raise problems[0]
    learn = _seconds("--learn", asked.learn)
    starts = tuple(_seconds("--start", text) for text in asked.starts)
    found: list[tuple[Played, Comparison]] = []
    for played in _traces(asked, endpoint):
        usual = USUAL_STARTS if played.start_seconds is None else (played.start_seconds,)
        learnt = learn if learn < played.seconds else played.seconds / 2
        for start in starts or usual:
            setting = Setting(asked.demand, start, learnt, played.seconds, MOST)
            found.append((played, compare(played.name, played.trace, setting)))
    rows = [_row(comparison, asked.demand.percentile if asked.bars else None) for _, comparison in found]
    if asked.svg is not None:
        _write_drawing(asked.svg, draw([(played.trace, comparison) for played, comparison in found]))
    if asked.output is Format.JSON:
        print(json.dumps(rows, indent=2))
    else:
        show_table(rows, (*_COLUMNS, _BAR) if asked.bars else _COLUMNS)
    if missed := [row for row in rows if row.get("meetsBar") is False]:
        named = ", ".join(
            f"{row['trace']} at {row['startSeconds']:g} s ({describe_bar(row['trace'])})" for row in missed
        )
        fail(BarMissed(f"{len(missed)} of {len(rows)} bars are missed: {named}"))


def _traces(asked: SimulateCommand, endpoint: Callable[[], Endpoint]) -> Iterator[Played]:
    given = [name for name in (asked.trace, asked.from_ledger, asked.synthetic, asked.bars) if name]
    if len(given) != 1:
        raise InvalidInput("arrivals", len(given), "one of --trace, --from-ledger, --synthetic and --bars")
    if asked.trace is not None:
        trace = read_trace(_read_file(asked.trace))
        yield Played(asked.trace.name, trace, trace[-1] + 1.0)
    elif asked.from_ledger:
        if not all(part.strip() for part in asked.from_ledger.split("/")) or asked.from_ledger.count("/") != 1:
            raise InvalidInput("--from-ledger", asked.from_ledger, "NAMESPACE/NAME of a pool")
        arrivals = Connection(endpoint()).get(f"/v1/pools/{asked.from_ledger}/arrivals")
        halves = arrivals["halfSeconds"]
        if not halves:
            raise InvalidInput("--from-ledger", asked.from_ledger, "a pool that got claims in the last day")
        yield Played(asked.from_ledger, [half / 2 for half in halves], DAY, arrivals["startSeconds"])
    else:
        names = list(SYNTHETIC) if asked.synthetic == EVERY else [asked.synthetic]
        names = list(TRACES) if asked.bars else names
        if names[0] not in SYNTHETIC:
            raise InvalidInput("--synthetic", asked.synthetic, f"one of {', '.join(SYNTHETIC)}, or {EVERY}")
        for name in names:
            yield Played(name, SYNTHETIC[name](2 * DAY, Entropy(asked.seed)), 2 * DAY)


def _read_file(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as error:
        raise Misconfigured(f"--trace: {file}: {error.strerror}", fix="give the path of a file") from error
    except UnicodeDecodeError as error:
        raise InvalidInput("--trace", str(file), "a file with text in UTF-8") from error


def _write_drawing(file: Path, drawing: str) -> None:
    try:
        file.write_text(drawing)
    except OSError as error:
        raise Misconfigured(f"--svg: {file}: {error.strerror}", fix="name a file that can be written") from error


def _seconds(field: str, text: str) -> float:
    seconds = parse_short_duration(text)
    if seconds is None or seconds <= 0:
        raise InvalidInput(field, text, "a duration such as 500ms, 40s or 24h")
    return seconds


def _row(comparison: Comparison, percentile: int | None) -> Row:
    planned = comparison.planned
    judged = {} if percentile is None else {"meetsBar": meets_bar(comparison, percentile)}
    return judged | {
        "trace": comparison.name,
        "startSeconds": comparison.start_seconds,
        "claims": planned.claims,
        "inTime": planned.in_time,
        "idleHours": planned.idle_hours,
        "bestFloor": comparison.best_floor,
        "bestIdleHours": comparison.best.idle_hours,
        "cost": comparison.cost if isfinite(comparison.cost) else None,
        "late": planned.late,
        "equalFloor": comparison.equal_floor,
        "equalLate": comparison.equal_late,
        "turnsAnHour": planned.turns_an_hour,
    }

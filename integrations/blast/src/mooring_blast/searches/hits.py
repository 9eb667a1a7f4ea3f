"""Hits: the lines that blastn reports, in one order whatever the number of shards."""

from collections.abc import Iterable
from dataclasses import dataclass

from mooring_blast.store.errors import ObjectDamaged

COLUMNS = (
    *("qseqid", "sseqid", "pident", "length", "mismatch", "gapopen", "qstart", "qend", "sstart", "send"),
    *("evalue", "bitscore", "staxids", "ssciname"),
)
OUTPUT_FORMAT = " ".join(("6", *COLUMNS))
_QUERY, _SUBJECT = COLUMNS.index("qseqid"), COLUMNS.index("sseqid")
_EVALUE, _SCORE = COLUMNS.index("evalue"), COLUMNS.index("bitscore")


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a report."""

    query: str
    subject: str
    evalue: float
    score: float
    line: str


def read_hits(report: str, where: str) -> list[Hit]:
    """The hits of a report."""
    return [_read(line, where) for line in report.splitlines()]


def merge(hits: Iterable[Hit], queries: tuple[str, ...], targets: int) -> list[Hit]:
    """By query in the order of the plan, best first, and of each query only the `targets` best sequences."""
    place = {name: at for at, name in enumerate(queries)}
    ordered = sorted(hits, key=lambda hit: (place[hit.query], hit.evalue, -hit.score, hit.subject, hit.line))
    taken: dict[str, dict[str, None]] = {}
    kept: list[Hit] = []
    for hit in ordered:
        subjects = taken.setdefault(hit.query, {})
        if hit.subject in subjects or len(subjects) < targets:
            subjects[hit.subject] = None
            kept.append(hit)
    return kept


def format_hits(hits: Iterable[Hit]) -> bytes:
    """A table with a line of names."""
    return "".join(f"{line}\n" for line in ("\t".join(COLUMNS), *(hit.line for hit in hits))).encode()


def _read(line: str, where: str) -> Hit:
    values = line.split("\t")
    try:
        if len(values) == len(COLUMNS):
            return Hit(values[_QUERY], values[_SUBJECT], float(values[_EVALUE]), float(values[_SCORE]), line)
    except ValueError:
        pass  # reported below, as any other line that is not a hit
    raise ObjectDamaged(f"{where}: {line[:80]!r} is not a hit", fix="delete the report and submit the search again")

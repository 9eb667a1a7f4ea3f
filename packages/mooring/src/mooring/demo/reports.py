"""The reports of a search: each batch writes one, the finalizer merges them."""

from pathlib import Path

SUFFIX = ".report"
MERGED = "merged.tsv"


def report_path(folder: Path, batch: str) -> Path:
    """The report of a batch."""
    return folder / f"{batch}{SUFFIX}"


def read_hits(report: str) -> list[str]:
    """The lines of a report that are hits, not comments."""
    return [line for line in report.splitlines() if line and not line.startswith("#")]


def merge_reports(folder: Path) -> int:
    """Merge the reports of all batches, sorted; returns the number of hits."""
    hits = sorted(hit for report in folder.glob(f"*{SUFFIX}") for hit in read_hits(report.read_text()))
    part = folder / f"{MERGED}.part"
    part.write_text("".join(f"{hit}\n" for hit in hits))
    part.replace(folder / MERGED)
    return len(hits)

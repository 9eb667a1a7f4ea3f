"""The reports of a search: each batch writes one, the finalizer makes one of all."""

from pathlib import Path

SUFFIX = ".report"
MERGED = "merged.tsv"


def report_path(folder: Path, batch: str) -> Path:
    """Where a batch writes."""
    return folder / f"{batch}{SUFFIX}"


def read_hits(report: str) -> list[str]:
    """The lines of a report that are hits, not comments."""
    return [line for line in report.splitlines() if line and not line.startswith("#")]


def merge_reports(folder: Path) -> int:
    """One report out of those of all batches, sorted; answers how many hits there are."""
    hits = sorted(hit for report in folder.glob(f"*{SUFFIX}") for hit in read_hits(report.read_text()))
    part = folder / f"{MERGED}.part"
    part.write_text("".join(f"{hit}\n" for hit in hits))
    part.replace(folder / MERGED)
    return len(hits)

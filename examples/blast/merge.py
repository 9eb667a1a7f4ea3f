"""The finalizer: one report out of the reports of all batches.

python merge.py FOLDER
"""

import sys
from pathlib import Path

from dataset import read_hits

MERGED = "merged.tsv"


def merge(folder: Path) -> int:
    """Write all hits, sorted; answers how many there are."""
    hits = sorted(hit for report in folder.glob("*.report") for hit in read_hits(report.read_text()))
    part = folder / f"{MERGED}.part"
    part.write_text("".join(f"{hit}\n" for hit in hits))
    part.replace(folder / MERGED)
    return len(hits)


if __name__ == "__main__":
    print(f"{merge(Path(sys.argv[1]))} hits")

"""A taxonomy of two species in BLAST's format (`taxdb.bti`, `taxdb.btd`), because the real one must be downloaded."""

import struct
from pathlib import Path

SPECIES = (
    (562, "Escherichia coli", "E. coli", "enterobacteria", "B"),
    (9606, "Homo sapiens", "human", "primates", "E"),
)
_MAGIC = 0x8739
_END = 0x7FFFFFFF  # an entry that only marks the end of the last name


def write_taxonomy(folder: Path) -> None:
    """Write both files; BLAST finds them through the variable BLASTDB."""
    names = bytearray()
    entries: list[tuple[int, int]] = []
    for taxid, *texts in SPECIES:
        entries.append((taxid, len(names)))
        names += "\t".join(texts).encode() + b"\n"
    entries.append((_END, len(names)))
    header = struct.pack(">6I", _MAGIC, len(entries), 0, 0, 0, 0)
    (folder / "taxdb.btd").write_bytes(bytes(names))
    (folder / "taxdb.bti").write_bytes(header + b"".join(struct.pack(">2I", *entry) for entry in entries))


def write_taxid_map(path: Path, names: list[str]) -> None:
    """The species of each sequence, by the number in its name: equal in a shard and in the whole."""
    lines = (f"{name} {SPECIES[int(name[-4:]) % len(SPECIES)][0]}\n" for name in names)
    path.write_text("".join(lines))

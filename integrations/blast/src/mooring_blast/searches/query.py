"""Queries in FASTA, as a person gives them: checked line by line, and written again in one form."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mooring.model.errors import InvalidInput

MOST_BYTES = 1024 * 1024
MOST_QUERIES = 1000
FIELD = "query"
_NAME = re.compile(r"[!-~]{1,100}")
_LETTERS = re.compile(r"[ACGTUNRYSWKMBDHVacgtunryswkmbdhv]+")
_LINE_LETTERS = 80
_FORM = "FASTA: a line '>NAME', then lines of nucleotides"


@dataclass(frozen=True, slots=True)
class Query:
    """A sequence to search for."""

    name: str
    letters: str

    def __str__(self) -> str:
        lines = [self.letters[at : at + _LINE_LETTERS] for at in range(0, len(self.letters), _LINE_LETTERS)]
        return "\n".join((f">{self.name}", *lines)) + "\n"


def parse_fasta(text: str) -> tuple[Query, ...]:
    """The queries of a text. Raises `InvalidInput` with the number of the line that is wrong."""
    if len(text.encode()) > MOST_BYTES:
        raise InvalidInput(FIELD, f"{len(text.encode())} bytes", f"at most {MOST_BYTES} bytes of FASTA")
    queries = tuple(_read(text))
    if not 1 <= len(queries) <= MOST_QUERIES:
        raise InvalidInput(FIELD, f"{len(queries)} sequences", f"{_FORM}; 1 to {MOST_QUERIES} sequences")
    names = [query.name for query in queries]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(FIELD, name, "a name that only one sequence has")
    return queries


def split_queries(queries: tuple[Query, ...], each: int) -> list[tuple[Query, ...]]:
    """Batches of at most `each` queries."""
    return [queries[at : at + each] for at in range(0, len(queries), each)]


def compute_search_space(letters: int, queries: tuple[Query, ...]) -> int:
    """One search space for all shards: letters of the whole database times the mean length of the queries.

    E-values then do not depend on the number of shards: they are those of `blastn -searchsp N` on the whole.
    """
    return max(1, letters * sum(len(query.letters) for query in queries) // len(queries))


def _read(text: str) -> Iterator[Query]:
    name, letters, begun = "", [""], 0
    for number, line in enumerate([*text.splitlines(), ">"], 1):
        line = line.strip()
        if line.startswith(">"):
            if begun:
                yield _finished(name, "".join(letters), begun)
            words = line[1:].split()
            name, letters, begun = words[0] if words else "", [], number
        elif line and not begun:
            raise InvalidInput(f"{FIELD}, line {number}", line, _FORM)
        elif line:
            if not _LETTERS.fullmatch(line):
                raise InvalidInput(f"{FIELD}, line {number}", line, "nucleotides: ACGTUN and the other IUPAC letters")
            letters.append(line)


def _finished(name: str, letters: str, line: int) -> Query:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{FIELD}, line {line}", f">{name}", "'>' and a name of 1 to 100 printable characters")
    if not letters:
        raise InvalidInput(f"{FIELD}, line {line}", f">{name}", "followed by lines of nucleotides")
    return Query(name, letters)

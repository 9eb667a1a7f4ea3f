"""The runbook: which section an error code, an invariant or a check of the doctor has, and how its pages are read."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

PAGES = ("alerts", "invariants", "doctor", "errors")
SITE = "https://mooring.dev/docs/runbook"  # where the documentation is published, as `make docs` builds it
# Checks whose id has a slash and that have a section of their own. Any other one belongs to its first part.
_WHOLE = frozenset({"access/tokens", "ledger/encryption"})
_SUMMARIES = {
    "permissions": "permission",
    "caches": "cache",
    "invariants": "invariant",
    "pools": "pool",
    "mints": "mint",
    "services": "service",
    "warmups": "warmup",
}
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_PART = re.compile(r"^- \*\*(.+?):\*\* ", re.MULTILINE)
_PIECE = re.compile(r"`([^`]+)`|\[([^\]]+)\]\(([^)]+)\)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sentence: plain, `code`, or a link to another section of the runbook."""

    text: str
    code: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """The answer to one of the six questions of a section."""

    label: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """As plain text, for a terminal."""
        return "".join(f"`{piece.text}`" if piece.code else piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Section:
    """One heading of a page, with its six parts."""

    page: str
    heading: str
    parts: tuple[Part, ...]

    @property
    def anchor(self) -> str:
        return anchor(self.heading)


def parse_sections(page: str, text: str) -> Iterator[Section]:
    """The sections of a page. Headings without parts, such as that of the page, are left out."""
    found = _HEADING.split(text)[1:]
    for heading, body in zip(found[1::3], found[2::3], strict=True):
        pieces = _PART.split(body)[1:]
        parts = [
            Part(label, tuple(_pieces(" ".join(answer.split()))))
            for label, answer in zip(pieces[::2], pieces[1::2], strict=True)
        ]
        if parts:
            yield Section(page, heading, tuple(parts))


def _pieces(text: str) -> Iterator[Piece]:
    end = 0
    for found in _PIECE.finditer(text):
        if found.start() > end:
            yield Piece(text[end : found.start()])
        code, name, target = found.groups()
        yield from [Piece(code, code=True)] if code else _linked(name, target)
        end = found.end()
    if end < len(text):
        yield Piece(text[end:])


def _linked(name: str, target: str) -> Iterator[Piece]:
    """A link within the runbook leads there; of a link to another document, the file is named."""
    path, _, place = target.partition("#")
    page = path.removesuffix(".md")
    if page in ("", *PAGES):
        yield Piece(name, link=f"{page and f'/runbook/{page}'}{place and f'#{place}'}")
        return
    yield Piece(f"{name}, in ")
    yield Piece(posixpath.normpath(f"docs/runbook/{path}"), code=True)


def check_section(check_id: str) -> str:
    """The heading of the section for a line of the doctor: `pool` for `pool/runners/linux`."""
    if check_id in _WHOLE:
        return check_id
    family = check_id.partition("/")[0]
    return _SUMMARIES.get(family, family)


def check_runbook(check_id: str) -> str:
    """Where the pages show the section for a line of the doctor."""
    return f"/runbook/doctor#{anchor(check_section(check_id))}"


def invariant_runbook(invariant_id: str) -> str:
    """Where the pages show the section for an invariant."""
    return f"/runbook/invariants#{anchor(invariant_id)}"


def error_runbook(code: str) -> str:
    """Where the pages show the section for an error code."""
    return f"/runbook/errors#{anchor(code)}"


def runbook_command(heading: str) -> str:
    """The command that prints a section in the terminal, also where no server answers."""
    return f"mooring runbook {heading}"


def anchor(heading: str) -> str:
    """The anchor that code hosts, the site and the pages make of a heading."""
    return re.sub(r"[^\w-]", "", heading.lower())

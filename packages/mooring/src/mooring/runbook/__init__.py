"""The runbook as it is installed with Mooring: the terminal and the pages show it where no other site is at hand.

Must not know: servers, clusters, ledgers. The files are copies of docs/runbook that tools/reference writes.
"""

from functools import cache
from importlib.resources import files

from mooring.model.runbook import PAGES, Section, parse_sections


@cache
def read_page(page: str) -> tuple[Section, ...]:
    """The sections of one of `PAGES`, in the order of the file."""
    return tuple(parse_sections(page, (files(__name__) / f"{page}.md").read_text(encoding="utf-8")))


def read_sections() -> tuple[Section, ...]:
    """The sections of all pages."""
    return tuple(section for page in PAGES for section in read_page(page))

"""`mooring runbook`: prints sections of the runbook. It needs no server, since it is for when none answers."""

from itertools import groupby

from mooring.cli.output import print_line
from mooring.model.errors import NotFound
from mooring.model.runbook import PAGES, Section, check_section
from mooring.model.suggestions import suggest
from mooring.runbook import read_sections

_WIDTH = max(map(len, ("Mooring does", "Over when"))) + 2


def run_runbook(name: str) -> None:
    """Print the sections of that name, or without a name the names of all."""
    sections = read_sections()
    if not name:
        for page, found in groupby(sections, lambda section: section.page):
            print_line(f"{page}: {', '.join(section.heading for section in found)}")
        return
    for number, section in enumerate(find_sections(name, sections)):
        if number:
            print_line("")
        _print_section(section)


def find_sections(name: str, sections: tuple[Section, ...]) -> list[Section]:
    """The sections with this name: an alert, an invariant, a line of the doctor such as `pool/NS/NAME`, or a code."""
    wanted = {name.lower(), check_section(name).lower()}
    found = [section for section in sections if section.heading.lower() in wanted]
    if not found:
        known = {section.heading for section in sections}
        raise NotFound(f"the runbook has no section {name!r}", fix=suggest(name, known, "sections"))
    return sorted(found, key=lambda section: PAGES.index(section.page))


def _print_section(section: Section) -> None:
    print_line(f"{section.heading} ({section.page})")
    for part in section.parts:
        print_line(f"  {part.label + ':':{_WIDTH}}{part.text}")

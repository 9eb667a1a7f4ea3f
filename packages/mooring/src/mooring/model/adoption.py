"""Adoption: older Jobs, made by other tools, that a Warmup or a Submission cleans up like its own."""

from collections.abc import Sequence

import msgspec

from mooring.model.errors import InvalidInput
from mooring.model.selector import parse_selector

MOST_SHOWN = 50


class Adopt(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which Jobs of the same namespace are adopted."""

    selector: str = ""


class AdoptedJob(msgspec.Struct, rename="camel", frozen=True):
    """A Job that matches: a `leftover` is deleted within the rails, a `kept` one is not touched."""

    name: str = ""
    node: str = ""
    state: str = ""
    why: str = ""


class Adoption(msgspec.Struct, rename="camel", frozen=True):
    """What matches the selector, and what is done about it."""

    selector: str = ""
    found: int = 0
    jobs: tuple[AdoptedJob, ...] = ()
    error: str = ""  # why the Jobs could not be read


LEFTOVER, DELETED, KEPT = "leftover", "deleted", "kept"


def report_adoption(selector: str, jobs: Sequence[AdoptedJob], error: str = "") -> Adoption:
    """Leftovers first; the number is that of all."""
    ordered = sorted(jobs, key=lambda job: (job.state != LEFTOVER, job.name))
    return Adoption(selector, len(jobs), tuple(ordered[:MOST_SHOWN]), error)


def check_adopt(adopt: Adopt | None) -> list[InvalidInput]:
    """What is wrong with `spec.adopt`."""
    if adopt is None:
        return []
    try:
        parse_selector("spec.adopt.selector", adopt.selector)
    except InvalidInput as problem:
        return [problem]
    return []

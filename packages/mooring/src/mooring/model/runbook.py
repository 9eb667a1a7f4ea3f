"""Addresses of the runbook: one section for each error code, invariant and check of the doctor."""

import re

ADDRESS = "https://mooring.dev/docs/runbook"
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


def check_section(check_id: str) -> str:
    """The heading of the section for a line of the doctor: `pool` for `pool/runners/linux`."""
    if check_id in _WHOLE:
        return check_id
    family = check_id.partition("/")[0]
    return _SUMMARIES.get(family, family)


def check_runbook(check_id: str) -> str:
    """The address of the section for a line of the doctor."""
    return f"{ADDRESS}/doctor.md#{anchor(check_section(check_id))}"


def invariant_runbook(invariant_id: str) -> str:
    """The address of the section for an invariant."""
    return f"{ADDRESS}/invariants.md#{anchor(invariant_id)}"


def error_runbook(code: str) -> str:
    """The address of the section for an error code."""
    return f"{ADDRESS}/errors.md#{anchor(code)}"


def anchor(heading: str) -> str:
    """The anchor that code hosts and the site make of a heading."""
    return re.sub(r"[^\w-]", "", heading.lower())

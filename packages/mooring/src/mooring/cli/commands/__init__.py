"""Declarations of the commands that talk to a running Mooring. Bodies are imported when they run: `--help` stays quick.

Must not know: the server's rooms.
"""

from mooring.cli.commands import (
    access,
    claims,
    diagnosis,
    fleet,
    invariants,
    services,
    submissions,
    usage,
    warmups,
    workload,
)

__all__ = [
    "access",
    "claims",
    "diagnosis",
    "fleet",
    "invariants",
    "services",
    "submissions",
    "usage",
    "warmups",
    "workload",
]

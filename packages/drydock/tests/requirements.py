"""What a machine may lack. Elsewhere a test that needs it says so and is skipped; with `MOORING_REQUIRE` it fails."""

import os
import shutil
from typing import NoReturn

import pytest

from drydock.kubernetes.binaries import Binaries, find_binaries
from drydock.kubernetes.toolchain import BinariesMissing
from drydock.nodes.machine import NodesUnavailable, check_machine
from drydock.nodes.programs import find_node_programs


def absent(name: str, message: str) -> NoReturn:
    """Skip loudly, or fail where `name` is required (a comma-separated list in `MOORING_REQUIRE`)."""
    if name in os.environ.get("MOORING_REQUIRE", "").split(","):
        pytest.fail(f"required here: {message}", pytrace=False)
    pytest.skip(message)


def require_kubernetes() -> Binaries:
    """The programs of a real control plane."""
    try:
        return find_binaries()
    except BinariesMissing as missing:
        absent("kubernetes", str(missing))


def require_nodes() -> None:
    """What real nodes need: the machine, its programs, and those that are built."""
    try:
        check_machine()
        find_binaries()
        find_node_programs()
    except (NodesUnavailable, BinariesMissing) as missing:
        absent("nodes", str(missing))


def require_kubectl() -> str:
    """The path of a kubectl."""
    if found := shutil.which("kubectl"):
        return found
    absent("kubectl", "no kubectl (fix: install the package 'kubernetes-client')")

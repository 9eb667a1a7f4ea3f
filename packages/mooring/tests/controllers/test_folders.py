"""Every kind has its folder, and the same file names are found in each."""

from pathlib import Path

import pytest

import mooring.controllers

FOLDER = Path(mooring.controllers.__file__).parent
WATCHED = {"controller.py", "informer.py", "manifests.py", "reconciler.py", "snapshot.py"}
EXPECTED = {
    "budgets": WATCHED,
    "claims": {"controller.py"},  # requests and rows of the ledger: no object to watch, to plan for or to create
    "invariants": {"commands.py", "controller.py", "reconciler.py", "snapshot.py"},
    "pools": WATCHED,
    "services": WATCHED,
    "submissions": WATCHED | {"commands.py"},
    "warmups": WATCHED | {"commands.py"},
}


def test_every_kind_has_its_folder():
    assert {path.parent.name for path in FOLDER.glob("*/__init__.py")} == set(EXPECTED)


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_folder_has_the_file_names_that_all_kinds_share(kind):
    assert EXPECTED[kind] <= {path.name for path in (FOLDER / kind).glob("*.py")}

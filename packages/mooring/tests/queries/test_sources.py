"""The wall before the queries holds for annotations, too: import-linter does not look at imports for type checkers."""

import ast
from pathlib import Path

import pytest

import mooring

ROOT = Path(mooring.__file__).parent
BEHIND = ("mooring.controllers", "mooring.engine", "mooring.ledger.postgres", "hawser.client", "hawser.reflector")


@pytest.mark.parametrize("room", ["dashboard", "queries"])
def test_no_module_names_what_is_behind_the_queries(room):
    named = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in sorted((ROOT / room).glob("**/*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        for module in _imported(node)
        if f"{module}.".startswith(tuple(f"{wall}." for wall in BEHIND))
    ]
    assert named == [], "add what is needed to queries/sources.py"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []

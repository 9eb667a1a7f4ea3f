"""The public face: `drydock` and `drydock.faults`, and nobody outside looks behind it."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import drydock

ROOT = Path(__file__).parents[3]
OUTSIDE = ("packages/hawser", "packages/mooring", "benchmarks", "examples", "integrations", "tools", "docs")
FACE = {"drydock", "drydock.faults"}


def imported_by(path: Path, package: str) -> Iterator[str]:
    """Modules that a file imports, if it names the package at all: to parse every file takes seconds."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if package in text else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.slow
def test_everything_outside_uses_only_the_face() -> None:
    found = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources(*OUTSIDE)
        for module in imported_by(path, "drydock")
        if module.split(".")[0] == "drydock" and module not in FACE
    ]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("package", ["hawser", "drydock"])
def test_the_packages_below_know_nothing_of_mooring(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources(f"packages/{package}")
        for module in imported_by(path, "mooring")
        if module.split(".")[0] == "mooring" or module.startswith("packages.mooring")
    ]
    assert found == []


def test_the_client_names_no_custom_resource_and_no_operator() -> None:
    named = re.compile(r"mooring|karpenter", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sources("packages/hawser/src")
        for line in path.read_text().splitlines()
        if named.search(line) and not line.startswith("Must not know: ")
    ]
    assert found == []


@pytest.mark.parametrize("name", [name for name in dir(drydock) if name != "faults"])
def test_a_name_of_the_face_is_that_of_its_module(name: str) -> None:
    assert getattr(drydock, name) is getattr(import_module(drydock._HOMES[name]), name)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "packages/drydock/src/drydock/__init__.py").read_text())
    typed = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("drydock.")
        for alias in node.names
    }
    assert typed == {(module, name) for name, module in drydock._HOMES.items()}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'drydock' has no attribute 'nothing'"):
        drydock.nothing  # noqa: B018


def test_importing_drydock_needs_only_the_standard_library() -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'packages/drydock/src')!r}); import drydock"
    subprocess.run([sys.executable, "-ISc", program], check=True)

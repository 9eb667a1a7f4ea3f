"""Documents agree with the repository: links lead somewhere, records are indexed, versions are the same everywhere."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from mooring import __version__

ROOT = Path(__file__).parents[4]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.(?:py|sql))`|(?<![\w./<-])((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:py|sql))\b")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
RELEASED = ("hawser", "drydock", "mooring")
# A file in backticks, or a path in a command. Addresses such as /openapi.json and patterns are no files.
FILE = re.compile(r"(?:`|(?<![\w./-])(?=[\w-]+/))((?!/)[\w./-]+\.(?:py|sh|yaml|toml|sql|md))(?![\w/-])")
INSTALLED = (
    ROOT / "packages" / "mooring" / "src" / "mooring" / "runbook"
)  # copies of docs/runbook, shown without its links
PLACEHOLDERS = frozenset({"NNNN-short-name.md"})


def _tracked(*patterns: str) -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


def _anchors(document: Path) -> set[str]:
    """The anchors of headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_in_every_document_resolves():
    broken = []
    for document in _tracked("*.md"):
        if document.parent == INSTALLED:
            continue
        for link in LINK.findall(FENCE.sub("", document.read_text())):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (document.parent / path).resolve() if path else document
            if not target.exists() or (anchor and anchor not in _anchors(target)):
                broken.append(f"{document.relative_to(ROOT)}: {link}")
    assert broken == []


def test_every_file_that_a_readme_names_exists():
    sources = [ROOT / "packages" / "mooring" / "src" / "mooring", *(ROOT / "packages").glob("*/src")]
    missing = []
    for document in _tracked("README.md", "**/README.md"):
        named = set(FILE.findall(document.read_text())) - PLACEHOLDERS
        for name in sorted(named):
            if not any((folder / name).is_file() for folder in (document.parent, ROOT, *sources)):
                missing.append(f"{document.relative_to(ROOT)}: {name}")
    assert missing == []


def test_every_file_that_comments_and_documents_name_is_there():
    tracked = [f"/{path.relative_to(ROOT)}" for path in _tracked()]
    missing = []
    for path in [*_tracked("packages/*/src/*.py"), *_tracked("*.md")]:
        written_before = path.name == "CHANGELOG.md" or "adr" in path.parts
        for quoted, plain in () if written_before else PATH.findall(path.read_text()):
            name = quoted or plain
            if not any(file.endswith(f"/{name}") for file in tracked):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert missing == []


def test_every_decision_record_is_in_the_index():
    index = (ROOT / "docs" / "adr" / "README.md").read_text()
    records = {path.name for path in (ROOT / "docs" / "adr").glob("[0-9]*.md")}
    assert len({name[:4] for name in records}) == len(records), "two records have the same number"
    assert records == set(re.findall(r"^\| \[[^\]]+\]\((\d{4}-[\w-]+\.md)\) \|", index, re.MULTILINE))


def test_nothing_says_to_install_a_distribution_of_somebody_else():
    wrong = re.compile(r"pip install ['\"]?mooring\b")
    texts = _tracked("*.md", "*.py", "*.toml", "*.html", "Makefile")
    assert [str(path.relative_to(ROOT)) for path in texts if wrong.search(path.read_text())] == []


def test_the_distributions_have_one_version_and_require_it_of_each_other():
    for package in RELEASED:
        project = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]
        assert project["version"] == __version__, package
        extras = [one for extra in project.get("optional-dependencies", {}).values() for one in extra]
        for requirement in [*project.get("dependencies", ()), *extras]:
            if found := re.match(r"kube-(hawser|drydock)(.*)", requirement):
                assert found[2] == f"=={__version__}", f"{package} requires {requirement}"


@pytest.mark.parametrize("package", RELEASED)
def test_type_checkers_of_users_read_the_annotations(package):
    assert (ROOT / "packages" / package / "src" / package / "py.typed").is_file()


def test_hooks_before_a_commit_download_nothing():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert {repository["repo"] for repository in hooks["repos"]} == {"local"}
    entries = {hook["entry"].split()[0] for repository in hooks["repos"] for hook in repository["hooks"]}
    assert entries <= {".venv/bin/ruff", ".venv/bin/python"}


def test_every_kind_is_behind_the_walls_between_controllers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    walls = {contract["name"]: contract for contract in contracts}
    controllers = ROOT / "packages" / "mooring" / "src" / "mooring" / "controllers"
    kinds = {f"mooring.controllers.{path.parent.name}" for path in controllers.glob("*/__init__.py")}
    shared = {f"mooring.controllers.{path.stem}" for path in controllers.glob("*.py")} - {
        "mooring.controllers.__init__"
    }
    below = walls["what controllers share knows none of them"]
    assert set(walls["controllers do not know each other"]["modules"]) == kinds
    assert set(below["forbidden_modules"]) == kinds
    assert set(below["source_modules"]) == shared

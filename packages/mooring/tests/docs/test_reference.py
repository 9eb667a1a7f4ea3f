"""The reference is what tools/reference writes from the code, and the site of the documents builds."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mooring.model import names
from mooring.model.mark_catalogue import MARKS

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs"
GENERATED = "<!-- Written by tools/reference"


@pytest.mark.slow
def test_the_reference_is_that_of_the_code(tmp_path: Path):
    subprocess.run([sys.executable, str(ROOT / "tools" / "reference"), str(tmp_path)], check=True)
    written = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.md")}
    wholly = {path.relative_to(DOCS) for path in DOCS.rglob("*.md") if path.read_text().startswith(GENERATED)}
    assert wholly <= set(written), "a generated page that nothing writes any more"
    for name, text in written.items():
        assert (DOCS / name).read_text() == text, f"docs/{name} is old: run make docs"


def test_every_mark_is_described_and_nothing_else_is():
    written = {value for name, value in vars(names).items() if name.isupper() and str(value).startswith("mooring.dev/")}
    written = written - {names.API_VERSION, names.OWN_PREFIX} | {names.DO_NOT_DISRUPT, names.SAFE_TO_EVICT}
    assert {mark.name for mark in MARKS} == written


def test_every_page_is_in_one_part_of_the_site():
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    parts = {title: pages for part in site["nav"] for title, pages in part.items()}
    assert list(parts) == ["Home", "Tutorial", "How-to", "Reference", "Concepts", "Incidents", "Drydock", "Hawser"]
    listed = [page for pages in parts.values() for page in _pages(pages)]
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'id="no_idle_worker"' in (tmp_path / "site" / "runbook" / "errors.html").read_text()


def _pages(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    inner = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    return [page for one in inner for page in _pages(one)]

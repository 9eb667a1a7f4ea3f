"""Comments and documents are complete in themselves, and use the words of the project."""

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
TEXTS = {".py", ".md", ".sql", ".sh", ".html", ".yaml", ".js", ".toml"}
NUMBERED = re.compile(r"\b(rules?|faults?|sections?) \d+", re.IGNORECASE)
AVOIDED = re.compile(r"\b(tells?|told|whoever|shields?|shielded|what is so)\b", re.IGNORECASE)
HAS_AVOIDED_WORDS = {"docs/concepts/glossary.md", "CHANGELOG.md"}  # one lists them, the other is history


def _tracked(*patterns: str) -> list[Path]:
    command = ["git", "ls-files", "--cached", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in listed if Path(name).suffix in TEXTS and "/vendor/" not in name]


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a document; of a program, those of its comments and strings, without their expressions."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield from enumerate(re.sub(r"\{[^}]*\}", "", token.string).splitlines(), token.start[0])


def test_nothing_refers_to_numbered_rules_that_the_repository_does_not_have():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _tracked()
        if path.is_file() and path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if NUMBERED.search(line)
    ]
    assert found == []


@pytest.mark.slow
def test_sources_and_documents_use_plain_words():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _tracked("packages/*/src/*.py", "packages/*/src/*.yaml", "packages/*/src/*.html", "*.md")
        if path.is_file() and str(path.relative_to(ROOT)) not in HAS_AVOIDED_WORDS
        for number, line in _prose(path)
        if AVOIDED.search(line)
    ]
    assert found == []

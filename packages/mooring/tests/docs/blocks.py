"""The code blocks and the inline code of all documents."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[4]
COPIES = "packages/mooring/src/mooring/runbook/"  # of docs/runbook: test_runbook.py compares them
_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^ *```", re.DOTALL | re.MULTILINE)
_ANY_BLOCK = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    language: str
    text: str

    @property
    def place(self) -> str:
        """The page and the first line of the block."""
        return f"{self.page}: {self.text.splitlines()[0]}"


def pages() -> list[Path]:
    """All tracked Markdown files, without copies."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if not name.startswith(COPIES)]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def blocks(language: str) -> Iterator[Block]:
    """All blocks of a language."""
    for path in pages():
        for found in _BLOCK.finditer(path.read_text()):
            if found["language"] == language:
                text = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
                yield Block(str(path.relative_to(ROOT)), language, text)


def inline_code() -> Iterator[tuple[str, str]]:
    """Every `code` in the prose of a page, with the page."""
    for path in pages():
        for found in _INLINE.finditer(_ANY_BLOCK.sub("", path.read_text())):
            yield str(path.relative_to(ROOT)), found[1]

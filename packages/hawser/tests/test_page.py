"""The examples of docs/hawser/README.md run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[3] / "docs" / "hawser" / "README.md").read_text()
SOURCE = Path(__file__).parents[1] / "src" / "hawser"
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.realtime
@pytest.mark.parametrize("example", EXAMPLES, ids=("controller", "fitting"))
def test_an_example_prints_what_its_last_line_promises(tmp_path: Path, example: str) -> None:
    promised = example.rstrip().rpartition("# prints ")[2]
    argv = [sys.executable, "-c", example]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", promised)


def test_modules_and_tests_that_the_page_names_are_there() -> None:
    part = TEXT.partition("## What is there\n")[2].partition("\n## ")[0]
    named = [name for row in re.findall(r"^\| (`.*?`) \|", part, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert len(named) >= 12
    assert [name for name in named if not (SOURCE / name).is_dir() and not (SOURCE / f"{name}.py").exists()] == []

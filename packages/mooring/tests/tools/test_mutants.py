"""The catalogue of mutations fits the code: each text is found once, and its tests exist."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def test_every_mutation_can_be_planted() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "mutants"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_there_are_at_least_eighty() -> None:
    texts = [path.read_text() for path in (ROOT / "tools" / "mutations").glob("*.toml")]
    assert sum(text.count("[[mutation]]") for text in texts) >= 80

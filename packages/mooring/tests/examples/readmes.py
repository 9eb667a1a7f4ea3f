"""The commands of an example's README, as a reader types them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packages.mooring.tests.acceptance.world import Up, running_up

ROOT = Path(__file__).parents[4]


@contextmanager
def running_example(name: str, folder: Path, *options: str) -> Iterator[tuple[Up, subprocess.CompletedProcess[str]]]:
    """`mooring up` and then the program, both with the README's options; `options` are added, or replace them."""
    text = (ROOT / "examples" / name / "README.md").read_text()
    [start] = re.findall(r"^mooring up(.*?) *&", text, re.MULTILINE)
    [program] = re.findall(r"^(python \S+(?: --\S+ \S+)*)", text, re.MULTILINE)
    (folder / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with running_up(*start.split()) as up:
        (folder / ".state").symlink_to(up.state)
        yield (
            up,
            subprocess.run(
                " ".join([program, *options]),
                shell=True,
                cwd=folder,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            ),
        )

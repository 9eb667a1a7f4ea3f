"""The example of the README runs as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import drydock

TEXT = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_example_runs(kubernetes: drydock.Kubernetes) -> None:
    [example] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    environment = {**os.environ, **kubernetes.environment}
    done = subprocess.run([sys.executable, "-c", example], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "added greeting\n" in done.stdout
    assert done.stdout.endswith("the cache follows its watch: True\n")


def test_modules_named_in_the_readme_are_there() -> None:
    source = Path(__file__).parents[1] / "src" / "hawser"
    rows = re.findall(r"^\| (`.*?`) \|", TEXT, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named
    assert not [name for name in named if not (source / name).is_dir() and not (source / f"{name}.py").exists()]

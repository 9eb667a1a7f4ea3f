"""The tests of examples/operator, a foreign operator, pass on drydock as its authors would run them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from packages.drydock.tests.requirements import require_kubernetes

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "operator"
PAGE = ROOT / "docs" / "drydock" / "testing-an-operator.md"
EMBEDDED, KUBERNETES = re.findall(r"^pytest (examples/operator\b[^#\n]*)", PAGE.read_text(), re.MULTILINE)


@pytest.mark.realtime
@pytest.mark.parametrize(
    "arguments", [EMBEDDED, pytest.param(KUBERNETES, marks=pytest.mark.kubernetes)], ids=["embedded", "kubernetes"]
)
def test_an_operator_written_with_kopf_passes_its_tests_as_the_page_runs_them(arguments: str) -> None:
    if arguments == KUBERNETES:
        require_kubernetes()
    # Warnings are errors: a cluster that leaves a connection open at its end would fail here.
    alone = ["-c", "/dev/null", "--rootdir", str(FOLDER), "--confcutdir", str(FOLDER), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *arguments.split(), "-q", "-W", "error", *alone]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

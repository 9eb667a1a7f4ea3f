"""The tests of examples/operator, a foreign operator, pass on drydock as its authors would run them."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "operator"


@pytest.mark.realtime
def test_an_operator_written_with_kopf_passes_its_tests_on_drydock() -> None:
    # Warnings are errors: a cluster that leaves a connection open at its end would fail here.
    alone = ["-c", "/dev/null", "--rootdir", str(FOLDER), "--confcutdir", str(FOLDER), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", *alone, "test_operator.py"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

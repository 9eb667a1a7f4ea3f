"""What runs beside the tests of a group ends with it, also if later tests of the process need it again."""

from pathlib import Path

import pytest

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[4]
PLUGINS = """
import sys
sys.path.append({root!r})
pytest_plugins = ("packages.testing.distribution", "packages.testing.endings")
"""
SUITE = """
import pytest
from pathlib import Path
from packages.testing.endings import close_with_group

def write(line):
    with Path({log!r}).open("a") as log:
        print(line, file=log)

@pytest.fixture(scope="session")
def up(request):
    write("start")
    close_with_group(request.config, lambda: write("closer"))
    yield
    write("stop")

@pytest.mark.parametrize("number", [1, 2])
def test_first(up, number):
    write("first")

def test_second():
    write("second")

def test_third(up):
    write("third")
"""


@pytest.mark.parametrize(
    ("processes", "expected"),
    [
        (1, "start first first stop closer second start third stop closer"),
        (0, "start first first second third stop closer"),
    ],
)
def test_what_a_group_started_ends_with_it(pytester: pytest.Pytester, processes: int, expected: str) -> None:
    log = pytester.path / "log"
    pytester.makeconftest(PLUGINS.format(root=str(ROOT)))
    pytester.makepyfile(SUITE.format(log=str(log)))
    pytester.runpytest_subprocess("-q", "-n", str(processes), timeout=60).assert_outcomes(passed=4)
    assert log.read_text().split() == expected.split()

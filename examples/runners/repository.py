"""A git repository to test: `main` is correct, `broken` has a bug that its tests find."""

import subprocess
from pathlib import Path

TESTS = """
import unittest

from tide import height


class TideTest(unittest.TestCase):
    def test_high_water_comes_at_noon(self):
        self.assertEqual(max(range(24), key=height), 12)

    def test_the_sea_is_never_below_the_harbour_floor(self):
        self.assertTrue(all(height(hour) >= 0 for hour in range(24)))
"""
SOUND = "def height(hour):\n    return 12 - abs(12 - hour)\n"
BROKEN = "def height(hour):\n    return abs(12 - hour)\n"


def make_repository(folder: Path) -> Path:
    """Create it; returns the path to clone it from."""
    folder.mkdir()
    _git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "test_tide.py").write_text(TESTS)
    _commit(folder, SOUND, "Tell the height of the tide")
    _git(folder, "checkout", "--quiet", "-b", "broken")
    _commit(folder, BROKEN, "Make it simpler")
    return folder


def _commit(folder: Path, tide: str, message: str) -> None:
    (folder / "tide.py").write_text(tide)
    _git(folder, "add", ".")
    who = ["-c", "user.name=Harbour Master", "-c", "user.email=harbour@example.com", "-c", "commit.gpgsign=false"]
    _git(folder, *who, "commit", "--quiet", "--message", message)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)

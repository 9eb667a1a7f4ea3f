"""A private view of files is made although some entry of a folder cannot be part of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from drydock.processes.mounting import can_mount

pytestmark = pytest.mark.realtime

# Binding one entry fails, as that of another user's FUSE mount below /run does.
SCRIPT = """
import json, os, sys
from drydock.processes import mounting

folder, source, scratch = sys.argv[1:]
bind = mounting._mount

def mount(origin, target, *rest, **more):
    if origin == f"{folder}/locked":
        raise PermissionError(13, "Permission denied", origin)
    bind(origin, target, *rest, **more)

mounting._mount = mount
mounting.enter_view([(source, f"{folder}/new/place", True)], scratch)
seen = {name: sorted(os.listdir(f"{folder}/{name}")) for name in ("open", "locked", "new/place")}
print(json.dumps(seen))
"""


def test_an_entry_that_cannot_be_bound_is_left_empty_and_the_rest_is_there(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("no private mounts for this user")
    folder, source, scratch = tmp_path / "folder", tmp_path / "source", tmp_path / "scratch"
    for path in (folder / "open", folder / "locked", source, scratch):
        path.mkdir(parents=True)
    (folder / "open" / "a").touch()
    (folder / "locked" / "b").touch()
    (source / "c").touch()
    command = [sys.executable, "-c", SCRIPT, str(folder), str(source), str(scratch)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"open": ["a"], "locked": [], "new/place": ["c"]}
    assert not (folder / "new").exists(), "nobody else sees it"

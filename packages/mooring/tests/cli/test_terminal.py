"""Colours on a terminal, and how to turn them off."""

import os
import pty
import re
import subprocess

import pytest

from packages.mooring.tests.acceptance.world import MOORING, Up, clean_environment

_COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:;\d+)*m")


def seen(up: Up, *arguments: str, **environment: str) -> str:
    """What a command writes to a terminal of 200 columns."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [MOORING, *arguments, "--state", str(up.state)],
        stdout=theirs,
        stderr=theirs,
        env={**clean_environment(), "TERM": "xterm-256color", "COLUMNS": "200", **environment},
    )
    os.close(theirs)
    pieces = []
    while piece := _read(ours):
        pieces.append(piece)
    os.close(ours)
    assert process.wait(10) == 0
    return b"".join(pieces).decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how a terminal says that nobody writes to it any more
        return b""


@pytest.mark.parametrize("listing", ["workers", "invariants"])
def test_states_have_colours_on_a_terminal(up: Up, listing: str):
    assert _COLOUR.search(seen(up, listing))


@pytest.mark.parametrize("listing", ["workers", "invariants"])
@pytest.mark.parametrize("wish", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colours_can_be_turned_off(up: Up, listing: str, wish: dict[str, str]):
    assert not _COLOUR.search(seen(up, listing, **wish))


def test_a_terminal_shows_every_worker_by_its_name(up: Up):
    text = seen(up, "workers", NO_COLOR="1")
    assert all(worker["name"] in text for worker in up.workers("runners/linux"))

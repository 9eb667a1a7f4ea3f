"""Commands as people run them."""

import os
import pty
import sys
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(holds: Callable[[], T], what: str = "it never came about", seconds: float = 15.0) -> T:
    """Wait until it holds; answers what it found."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return found


def on_a_terminal(environment: dict[str, str], typed: bytes, *arguments: str) -> tuple[int, str]:
    """Exit code, and all that a person at a terminal saw."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "mooring", *arguments], environment)
    os.write(terminal, typed)
    seen = b""
    try:
        while piece := os.read(terminal, 1024):
            seen += piece
    except OSError:
        pass  # the terminal is gone with its last user
    finally:
        os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), seen.decode()

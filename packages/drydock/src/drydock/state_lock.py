"""One owner for a state folder at a time: a second one would end the first one's processes."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hawser.errors import Misconfigured


@contextmanager
def state_folder(folder: Path) -> Iterator[Path]:
    """Hold the folder, made if need be, until the end of the block. The lock dies with the process."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unusable(folder, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 32, 0).decode().strip() or "unknown"
            raise Misconfigured(
                f"{folder} is in use by process {holder}", fix="stop it, or choose another --state"
            ) from error
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:  # a disk that is full makes the file, but writes nothing
            raise _unusable(folder, error) from error
        yield folder
    finally:
        os.close(descriptor)


def _unusable(folder: Path, error: OSError) -> Misconfigured:
    reason = error.strerror or "unusable"
    return Misconfigured(f"cannot keep state in {folder}: {reason}", fix="free space, or choose another --state")

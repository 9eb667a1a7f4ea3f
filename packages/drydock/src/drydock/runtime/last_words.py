"""The termination message of a container: what it wrote into a file, or the end of its log, as its spec says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drydock.runtime.contract import LogLine
from drydock.runtime.logs import render

DEFAULT_PATH = "/dev/termination-log"
_LIMIT_BYTES = 4096
_LOG_LINES = 80
_LOG_LIMIT_BYTES = 2048


def make_file(folder: Path, attempt: int) -> Path:
    """An empty file for the message of one run; that of the run before is removed."""
    (folder / f"last-words-{attempt - 1}").unlink(missing_ok=True)
    file = folder / f"last-words-{attempt}"
    file.write_bytes(b"")
    file.chmod(0o666)
    return file


def target_of(spec: dict[str, Any]) -> str:
    """The path at which the container finds the file."""
    return str(spec.get("terminationMessagePath") or DEFAULT_PATH)


def read_words(file: Path) -> str:
    """What the container wrote, as much as a status holds."""
    with file.open("rb") as opened:
        return opened.read(_LIMIT_BYTES).decode("utf-8", "replace")


def wants_log(spec: dict[str, Any], written: str, exit_code: int) -> bool:
    """Whether the end of the log takes the place of a message that was not written."""
    return not written and exit_code != 0 and spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"


def log_end(log: Sequence[LogLine]) -> str:
    """The last lines, as many as a status holds."""
    return render(log[-_LOG_LINES:], timestamps=False)[-_LOG_LIMIT_BYTES:].decode("utf-8", "replace")

"""The operator's token: configured, or in a file of the state folder that only its owner reads.

An empty token would let everyone in, so there is none: a file without a token is made again, and a disk that is full
leaves no file at all.
"""

import os
import tempfile
from pathlib import Path

from hawser.clock import Entropy
from mooring.model.errors import Misconfigured

_BYTES = 24


def load_token(state: Path, configured: str, entropy: Entropy) -> str:
    """The configured token, or the one in `state/token` (mode 0600), which is made if it is missing or empty."""
    if configured:
        if not configured.strip():
            raise Misconfigured("MOORING_TOKEN has no characters but spaces", fix="set a token, or unset the variable")
        return configured.strip()
    path = state / "token"
    try:
        token = _read(path)
        if not token:
            token = entropy.token(_BYTES)
            _write(path, token)
    except OSError as error:
        raise Misconfigured(
            f"{path}: {error.strerror}", fix="free space or correct its permissions, or choose a folder with --state"
        ) from error
    except UnicodeDecodeError as error:
        raise Misconfigured(f"{path} is not text", fix="delete it: a new token is made") from error
    return token


def _read(path: Path) -> str:
    try:
        path.chmod(0o600)
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def _write(path: Path, token: str) -> None:
    """All or nothing: a crash or a full disk leaves no file that is empty or cut short."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".token-")  # mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(token + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

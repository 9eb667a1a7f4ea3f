"""The file that `mooring login` writes: one address, and the token for it."""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mooring.model.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class Login:
    """An address and its token."""

    url: str
    token: str


def login_path() -> Path:
    """`mooring/login.json` in the user's folder for configuration."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(folder) if folder else Path.home() / ".config") / "mooring" / "login.json"


def read_login() -> Login | None:
    """The stored login; None if there is none."""
    try:
        path = login_path()
        content = json.loads(path.read_text())
        return Login(str(content["url"]), str(content["token"]))
    except (OSError, RuntimeError):  # no file, or no home
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise Misconfigured(f"{path} cannot be read: {error}", fix="log in again with 'mooring login'") from error


def write_login(login: Login) -> Path:
    """Store it, readable by the user alone; all of it or nothing."""
    path = login_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".login-")  # mode 0600
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump({"url": login.url, "token": login.token}, file)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Misconfigured(f"{path}: {error.strerror}", fix="set XDG_CONFIG_HOME to a folder of yours") from error
    return path


def forget_login() -> bool:
    """Delete the stored login; False if there was none."""
    try:
        login_path().unlink()
    except FileNotFoundError:
        return False
    return True

"""The extras of the distribution: what to install for a command that needs more than the plain install."""

import contextlib
from collections.abc import Iterator

from mooring.cli.failures import fail
from mooring.model.errors import MooringError

DISTRIBUTION = "kube-mooring"
_OWN_PACKAGES = ("mooring", "hawser")


class NotInstalled(MooringError):
    """A command needs an extra that is not installed."""

    code = "not_installed"


@contextlib.contextmanager
def extra_for(command: str, extra: str) -> Iterator[None]:
    """Import the body of a command. A missing package ends the command with the line that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _OWN_PACKAGES:
            raise  # a broken installation, or a defect of ours
        fail(NotInstalled(f"'mooring {command}' needs more packages: pip install '{DISTRIBUTION}[{extra}]'"))

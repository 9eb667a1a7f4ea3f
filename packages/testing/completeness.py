"""How a run of tests ended, for `tools/again`: only a run that came to its end has a list of all that failed in it."""

import pytest

EXIT_STATUS = "mooring/exit_status"
"""The key in pytest's cache; null while a run is under way, and after it was killed."""


def pytest_sessionstart(session: pytest.Session) -> None:
    _note(session.config, None)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int | pytest.ExitCode) -> None:
    _note(session.config, int(exitstatus))


def _note(config: pytest.Config, status: int | None) -> None:
    if not hasattr(config, "workerinput") and config.cache is not None:
        config.cache.set(EXIT_STATUS, status)

"""A whole run of the tests fails if the chart grants a right that no scenario and no replay has used."""

from typing import Any

import pytest

from packages.mooring.tests.permissions import RECORDER, Use

_OUTPUT = "mooring_rights"


@pytest.hookimpl(optionalhook=True)  # of xdist, which may be absent
def pytest_testnodedown(node: Any, error: object) -> None:
    """A process of a distributed run has ended: take over what it has recorded."""
    RECORDER.used |= {Use(*one) for one in getattr(node, "workeroutput", {}).get(_OUTPUT, ())}


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Pass on what was recorded, or judge it at the end of a whole run."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_OUTPUT] = [(use.group, use.resource, use.verb) for use in RECORDER.used]
    elif exitstatus == pytest.ExitCode.OK and _is_whole(session.config) and RECORDER.unused:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name what was granted and not used."""
    if _is_whole(config) and RECORDER.unused:
        terminalreporter.section("rights that nothing uses: remove them from mooring/model/permissions.py")
        for use in RECORDER.unused:
            terminalreporter.line(f"{use.verb} {use.resource} of {use.group or 'core'}")


def _is_whole(config: pytest.Config) -> bool:
    """Whether everything runs: no path, mark or word was asked for."""
    asked = config.option.markexpr or config.option.keyword or getattr(config.option, "lf", False)
    return not asked and config.args_source is not pytest.Config.ArgsSource.ARGS and not config.option.collectonly

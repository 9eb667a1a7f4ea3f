"""Processor time of the tests, printed beside `--durations`.

On a busy machine a duration says how long a test waited for the processor. What a test costs is its processor time,
with that of the processes it started and waited for. `--junitxml` has it for every test.
"""

import resource
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

_SHOWN_SECONDS = 0.5


class _Meter:
    """Reads the time spent in each phase where tests run; adds it up by test where they are reported."""

    def __init__(self, config: pytest.Config) -> None:
        self._count: int = config.getoption("durations") or 0
        self._read = 0.0
        self._by_test: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._read = _spent_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        before, self._read = self._read, _spent_seconds()
        spent = self._read - before
        item.user_properties.append((f"processor_seconds_{call.when}", f"{spent:.3f}"))  # the last report has them all
        report = yield
        report.processor_seconds = spent
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._by_test[report.nodeid] += getattr(report, "processor_seconds", 0.0)  # a process that died reports none

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._count:
            return
        total = sum(self._by_test.values())
        terminalreporter.section(f"processor time: {total:.0f} s in {len(self._by_test)} tests, without start-up")
        for nodeid, seconds in self._by_test.most_common(self._count):
            if seconds >= _SHOWN_SECONDS:
                terminalreporter.line(f"{seconds:6.2f} s {nodeid}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Meter(config))


def _spent_seconds() -> float:
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)

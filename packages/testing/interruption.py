"""A run that is terminated ends as one that is interrupted: its fixtures stop the processes that they started.

`timeout` and runners of CI send SIGTERM. Without this, Python would end at once, and replicas, databases and clusters
of the tests would go on. A run in the background ignores Ctrl-C, and so would every process that a test starts and
interrupts.
"""

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # a process of `pytest -n` is ended by the one that started it
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))

"""A run in the background ignores Ctrl-C, and so would every process that a test starts and interrupts."""

import signal


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

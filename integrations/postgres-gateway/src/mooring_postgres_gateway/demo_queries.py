"""Clients of the demo: each runs `psql` repeatedly, with queries whose answer is known."""

import subprocess
import threading

_CLIENTS = 3
_ROWS = 3_000_000
_QUERY = f"SELECT count(*), sum(i)::BIGINT, max(md5(i::VARCHAR)) IS NOT NULL FROM range({_ROWS}) t(i)"
_EXPECTED = f"{_ROWS}|{_ROWS * (_ROWS - 1) // 2}|t"
_SESSION = ";".join([_QUERY] * 3)


class Queries:
    """Runs queries in threads between `start` and `finish`."""

    def __init__(self, url: str, psql: str) -> None:
        self._command = [psql, "-X", "-At", url, "-c", _SESSION]
        self._stopping = threading.Event()
        self._began = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(_CLIENTS)]
        self.done = 0
        self.failures: list[str] = []

    def start(self) -> None:
        """Returns when the first session has ended, so that workers are claimed."""
        for thread in self._threads:
            thread.start()
        self._began.wait(120)

    def finish(self) -> None:
        """Let the sessions that run end."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            ended = subprocess.run(self._command, capture_output=True, text=True, check=False)
            lines = ended.stdout.split()
            with self._lock:
                self.done += lines.count(_EXPECTED)
                if ended.returncode or lines != [_EXPECTED] * 3:
                    self.failures.append(ended.stderr.strip() or f"wrong rows: {lines}")
            self._began.set()

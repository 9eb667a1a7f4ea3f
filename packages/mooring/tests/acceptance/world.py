"""`mooring up` as its users run it: a process with a state folder, a port, and children that must not outlive it."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import httpx
import pytest

from packages.mooring.tests.requirements import require_kubectl, require_kubernetes
from packages.testing.endings import close_with_group

T = TypeVar("T")

MOORING = str(Path(sys.executable).with_name("mooring"))
READY_SECONDS = 60.0
STOP_SECONDS = 40.0
PATIENCE = 4


def until(holds: Callable[[], T], within: float, what: str, every: float = 0.1) -> T:
    """Wait until something true comes back; what never comes has failed. Looks take at most half of the time.

    `within` is meant for a machine that does nothing else; in a whole run other tests share its processors.
    """
    deadline = time.monotonic() + within * PATIENCE
    while True:
        begun = time.monotonic()
        if answer := holds():
            return answer
        now = time.monotonic()
        if now > deadline:
            raise AssertionError(f"not within {within * PATIENCE:.0f} s: {what}")
        time.sleep(max(every, now - begun))


def processes_of(state: Path) -> dict[int, str]:
    """Every process that has to do with a state folder: by its command line, its environment or where it works."""
    needle = os.fsencode(state)
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            traces = command + (entry / "environ").read_bytes() + os.fsencode(os.readlink(entry / "cwd"))
        except OSError:
            continue  # ended meanwhile, or a thread of the kernel
        if needle in traces:
            found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()
    return found


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> list[str]:
        """What it said on stderr, without lines of progress and of the runbook."""
        return [line for line in self.err.splitlines() if not line.endswith("…") and not line.startswith("  runbook: ")]


def run_command(*arguments: str, within: float = 180.0, **environment: str) -> Finished:
    """Run one `mooring` command to its end; no terminal, no colours."""
    done = subprocess.run(
        [MOORING, *arguments],
        capture_output=True,
        text=True,
        timeout=within,
        env={**clean_environment(), **environment},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def clean_environment() -> dict[str, str]:
    """This process's environment without what would tell Mooring where to look, or how wide a terminal is."""
    hidden = ("MOORING_", "KUBECONFIG", "COLUMNS")
    return {name: value for name, value in os.environ.items() if not name.startswith(hidden)}


class Up:
    """One life, or several, of `mooring up` on one state folder."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="mooring-up-"))
        self.home.chmod(0o755)
        self.state = self.home / "state"
        self.arguments = arguments
        self._environment = {**clean_environment(), **environment}
        self._process: subprocess.Popen[bytes] | None = None

    # --- living and dying --------------------------------------------------------------------------------------------
    def launch(self) -> None:
        """Start, and do not wait."""
        with open(self.home / "out", "ab") as out, open(self.home / "err", "ab") as err:
            self._process = subprocess.Popen(
                [MOORING, "up", "--state", str(self.state), "--port", "0", *self.arguments],
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                env=self._environment,
                start_new_session=True,
            )
        self.__dict__.pop("url", None)

    def start(self) -> float:
        """Start and wait until it says where it is; answers how long that took."""
        started = time.monotonic()
        self.launch()
        until(lambda: self._announced() or self._process_ended(), READY_SECONDS, "'Mooring is up'")
        if self._process_ended():
            raise AssertionError(f"mooring up ended: {self.err()}")
        return time.monotonic() - started

    def _announced(self) -> bool:
        """DIR/url is written when the caches are synced; that of a life before is taken away at the start."""
        return self.answers()

    def _process_ended(self) -> bool:
        assert self._process is not None
        return self._process.poll() is not None

    def answers(self) -> bool:
        try:
            return httpx.get((self.state / "url").read_text().strip() + "/readyz", timeout=5).status_code == 200
        except (FileNotFoundError, httpx.HTTPError):
            return False

    def signal(self, number: signal.Signals) -> None:
        """As a terminal sends it: to the whole foreground group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def interrupt(self) -> int:
        """Ctrl-C; answers the exit code."""
        assert self._process is not None
        self.signal(signal.SIGINT)
        return self._process.wait(STOP_SECONDS)

    def terminate(self) -> int:
        """As a supervisor ends it."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(STOP_SECONDS)

    def kill(self) -> None:
        """`kill -9` of Mooring alone; its children are not told."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(STOP_SECONDS)

    def close(self) -> None:
        """Gone without a trace, whatever the test did."""
        if self._process is not None and self._process.poll() is None:
            self.interrupt()
        for pid in processes_of(self.state):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def processes(self) -> dict[int, str]:
        return processes_of(self.state)

    def err(self) -> str:
        return (self.home / "err").read_text(errors="replace")

    # --- what it wrote down ------------------------------------------------------------------------------------------
    @cached_property
    def url(self) -> str:
        return (self.state / "url").read_text().strip()

    @cached_property
    def token(self) -> str:
        return (self.state / "token").read_text().strip()

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    # --- hands -------------------------------------------------------------------------------------------------------
    def http(self) -> httpx.Client:
        """A client with the token."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=30)

    def get(self, path: str) -> Any:
        """The JSON of a GET."""
        with self.http() as http:
            return http.get(path).raise_for_status().json()

    def command(self, *arguments: str, **environment: str) -> Finished:
        """`mooring ... --state DIR`."""
        return run_command(*arguments, "--state", str(self.state), **environment)

    def kubectl(self, *arguments: str, body: object = None, check: bool = True) -> Finished:
        """`kubectl` on its cluster."""
        done = subprocess.run(
            [require_kubectl(), "--kubeconfig", str(self.kubeconfig), *arguments],
            capture_output=True,
            text=True,
            timeout=90,
            input=None if body is None else json.dumps(body),
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return Finished(done.returncode, done.stdout, done.stderr)

    def objects(self, *arguments: str) -> list[dict[str, Any]]:
        """The items of a `kubectl get`."""
        return list(json.loads(self.kubectl("get", *arguments, "-o", "json").out)["items"])

    # --- the fleet ---------------------------------------------------------------------------------------------------
    def pool(self, key: str) -> dict[str, Any]:
        return dict(self.get(f"/v1/pools/{key}"))

    def workers(self, key: str) -> list[dict[str, Any]]:
        return list(self.get(f"/v1/workers?pool={key}")["items"])

    def idle(self, key: str) -> dict[str, str]:
        """Idle workers: name -> uid."""
        return {worker["name"]: worker["uid"] for worker in self.workers(key) if worker["state"] == "idle"}

    def until_settled(self, key: str, count: int, within: float = 60.0) -> dict[str, str]:
        """Exactly `count` workers, all idle."""

        def settled() -> dict[str, str]:
            workers, idle = self.workers(key), self.idle(key)
            return idle if len(workers) == len(idle) == count else {}

        return until(settled, within, f"{count} idle workers of {key}")


@contextlib.contextmanager
def running_up(*arguments: str) -> Iterator[Up]:
    """An `up` of one's own."""
    up = Up(*arguments)
    try:
        up.start()
        yield up
    finally:
        up.close()


_SHARED = pytest.StashKey[dict[str, Up]]()


def shared_up(config: pytest.Config, cluster: str) -> Up:
    """One `up` for a group of tests, started when it is first asked for; who changes it puts it back."""
    lives = config.stash.setdefault(_SHARED, {})
    if cluster not in lives:
        if cluster == "kubernetes":
            require_kubernetes()
        up = Up("--cluster", cluster, "--no-traffic")

        def close() -> None:
            lives.pop(cluster, None)
            up.close()

        close_with_group(config, close)
        up.start()
        lives[cluster] = up
        up.until_settled("runners/linux", 8)
        up.until_settled("queries/duck", 4)
    return lives[cluster]

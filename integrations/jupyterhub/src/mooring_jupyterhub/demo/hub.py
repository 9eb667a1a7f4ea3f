"""A hub with its proxy on this machine: its folder, its ports and its process."""

import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hawser.clock import Entropy

CONFIG = Path(__file__).with_name("jupyterhub_config.py")
PROXY = "configurable-http-proxy"


@dataclass(frozen=True, slots=True)
class DemoHub:
    """The folder STATE/jupyterhub: database, token of the demo's own client, homes of users, ports."""

    state: Path

    @property
    def folder(self) -> Path:
        """Everything that the hub writes."""
        return self.state / "jupyterhub"

    @property
    def url(self) -> str:
        """Where browsers find it."""
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def token(self) -> str:
        """Of the demo's own client; it may start servers and use them."""
        return (self.folder / "token").read_text()

    @property
    def ports(self) -> tuple[int, int, int]:
        """Of the proxy, of the proxy's API and of the hub. They stay: running servers know the hub by its port."""
        public, proxy_api, hub = json.loads((self.folder / "ports.json").read_text())
        return public, proxy_api, hub

    def prepare(self, port: int) -> None:
        """Create the folder. A second call keeps what is there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "token").exists():
            descriptor = os.open(self.folder / "token", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w") as file:
                file.write(Entropy().uuid())
        if not (self.folder / "ports.json").exists():
            (self.folder / "ports.json").write_text(json.dumps([port or free_port(), free_port(), free_port()]))

    def start(self, *options: str) -> "subprocess.Popen[bytes]":
        """Start the hub, which starts its proxy. It finds Mooring as any client of the SDK does.

        Options, such as `--JupyterHub.last_activity_interval=60`, overrule the configuration.
        """
        environment = {
            **os.environ,
            "MOORING_STATE": str(self.state),
            "DEMO_FOLDER": str(self.folder),
            "DEMO_PROXY": find_proxy(),
        }
        command = [sys.executable, "-m", "jupyterhub", "-f", str(CONFIG), *options]
        return subprocess.Popen(command, cwd=self.folder, env=environment)


def find_proxy() -> str:
    """The path of JupyterHub's proxy: on the PATH, or where tools/hub-proxy installs it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    installed = sorted((cache / "drydock" / "hub-proxy").glob(f"*/node_modules/.bin/{PROXY}"))
    found = shutil.which(PROXY) or (str(installed[-1]) if installed else "")
    if not found:
        raise SystemExit(f"there is no {PROXY}; install it with 'npm install -g {PROXY}' or tools/hub-proxy")
    return found


def free_port() -> int:
    """A port of this machine that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

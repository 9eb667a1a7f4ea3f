"""What a machine may lack. Elsewhere a test that needs it says so and is skipped; with `MOORING_REQUIRE` it fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from packages.drydock.tests.requirements import absent, require_kubectl, require_kubernetes, require_nodes

__all__ = [
    "absent",
    "require_blast",
    "require_chromium",
    "require_go",
    "require_helm",
    "require_hub_proxy",
    "require_kubectl",
    "require_kubernetes",
    "require_nodes",
    "require_prometheus",
]

_TOOLS = Path(__file__).parents[3] / "tools"


def require_chromium() -> str:
    """The path of a Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return absent("browser", "no Chromium (fix: install the package 'chromium')")


def require_blast() -> str:
    """The path of blastn; makeblastdb and blastdbcheck are beside it."""
    if found := shutil.which("blastn"):
        return found
    return absent("blast", "no blastn (fix: install the package 'ncbi-blast+')")


def require_helm() -> str:
    """The path of the Helm that `make helm` has built, where tools/helm puts it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    built = sorted((cache / "drydock" / "helm").glob("v*/helm"))
    return str(built[-1]) if built else absent("helm", "no Helm (fix: make helm)")


def require_hub_proxy() -> str:
    """The path of JupyterHub's proxy; tools/hub-proxy installs it once, where npm is."""
    done = subprocess.run([_TOOLS / "hub-proxy"], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else absent("hub-proxy", f"{done.stderr.strip()[-300:]}")


def require_go() -> str:
    """The path of Go: the system's, or that of `make kubernetes`."""
    found = shutil.which("go") or shutil.which("go", path=Path(sys.executable).parent)
    return found or absent("go", "no Go (fix: install Go 1.24 or newer, or make kubernetes)")


def require_prometheus(program: str = "prometheus") -> str:
    """The path of Prometheus, or of `promtool` beside it."""
    if found := shutil.which(program):
        return found
    return absent("prometheus", f"no {program} (fix: install the package 'prometheus')")

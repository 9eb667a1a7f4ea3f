"""What a machine may lack. Elsewhere a test that needs it says so and is skipped; with `MOORING_REQUIRE` it fails."""

import os
import shutil
from pathlib import Path

from packages.drydock.tests.requirements import absent, require_kubectl, require_kubernetes, require_nodes

__all__ = [
    "absent",
    "require_blast",
    "require_chromium",
    "require_helm",
    "require_kubectl",
    "require_kubernetes",
    "require_nodes",
    "require_prometheus",
]


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


def require_prometheus(program: str = "prometheus") -> str:
    """The path of Prometheus, or of `promtool` beside it."""
    if found := shutil.which(program):
        return found
    return absent("prometheus", f"no {program} (fix: install the package 'prometheus')")

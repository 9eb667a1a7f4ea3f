"""A real control plane with simulated nodes, for Helm, kubectl and Mooring's own account."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drydock import ClusterAccess, write_kubeconfig
from packages.drydock.tests.conformance.world import hosted_cluster
from packages.mooring.tests.acceptance.world import until
from packages.mooring.tests.chart.rendering import CHART, Body, Helm, run_helm
from packages.mooring.tests.requirements import require_helm, require_kubectl, require_kubernetes

# What comes and goes by itself.
RESTLESS = {"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses"}
DATABASE = "postgresql://unused"
KINDS = ("workerpools", "warmups", "submissions", "managedservices")


@dataclass(slots=True)
class RealCluster:
    """The hands of an administrator, and of Helm."""

    kubeconfig: Path
    folder: Path

    def kubectl(self, *arguments: str, text: str | None = None, fails: bool = False) -> str:
        """What kubectl prints."""
        command = [require_kubectl(), "--kubeconfig", str(self.kubeconfig), *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
        assert fails or done.returncode == 0, done.stderr
        return done.stdout or done.stderr

    def get(self, *arguments: str) -> Any:
        """An object, or the items of a list."""
        found = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return found.get("items", found)

    def apply(self, *bodies: Body) -> None:
        self.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))

    def helm(self, *arguments: str, values: Body | None = None) -> Helm:
        done = run_helm(*arguments, "--kubeconfig", str(self.kubeconfig), values=values)
        assert done.code == 0, done.err
        return done

    def install(self, release: str, namespace: str, values: Body | None = None, verb: str = "install") -> Helm:
        done = self.helm(verb, release, str(CHART), "--namespace", namespace, values=values or {})
        self.until(self._kinds_are_listed, "Mooring's kinds are served")
        return done

    def _kinds_are_listed(self) -> bool:
        """What Mooring's replicas do at once; here they are simulated pods.

        An API server that never served a kind may fail to list it when its definition goes ("storage is
        (re)initializing"), and then tries again minutes later.
        """
        done = self.kubectl("get", ",".join(f"{kind}.mooring.dev" for kind in KINDS), "-A", "-o", "name", fails=True)
        return "error" not in done.lower()

    def make_namespace(self, name: str, **labels: str) -> None:
        """A namespace with the Secret that Mooring needs."""
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mooring", "namespace": name}}
        self.apply({**secret, "stringData": {"database": DATABASE, "token": "t"}})
        self.until(lambda: len(self.get("-n", name, "configmap")) == 1, "the namespace is furnished")

    def everything(self) -> set[str]:
        """The names of all objects, but for those that come and go by themselves."""
        kinds = self.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        asked = ",".join(sorted(set(kinds) - RESTLESS))
        listed = self.kubectl(
            "get", asked, "-A", "-o", "custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name", "--no-headers"
        )
        return {" ".join(line.split()) for line in listed.splitlines()}

    def until(self, holds: Callable[[], bool], what: str, seconds: float = 60) -> None:
        until(holds, seconds, what, every=0.3)

    def as_account(self, namespace: str, account: str = "mooring") -> Path:
        """A kubeconfig of that account."""
        token = self.kubectl("-n", namespace, "create", "token", account).strip()
        config = json.loads(self.kubectl("config", "view", "--raw", "-o", "json"))["clusters"][0]["cluster"]
        target, authority = self.folder / f"{namespace}-{account}", self.folder / "ca.crt"
        authority.write_bytes(base64.b64decode(config["certificate-authority-data"]))
        write_kubeconfig(target, ClusterAccess(config["server"], authority, token, name="account"))
        return target


@contextmanager
def real_cluster(folder: Path) -> Iterator[RealCluster]:
    """Until the end of the block."""
    require_kubernetes()
    require_helm()
    require_kubectl()
    with hosted_cluster("kubernetes") as hosted:

        async def look(probe: Any) -> Path:
            return Path(probe.kubeconfig)

        yield RealCluster(hosted.run(look), folder)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    with real_cluster(tmp_path_factory.mktemp("real")) as real:
        yield real

"""The pods of workers, by `kubectl` and with the kubeconfig of the caller: logs, and commands inside.

Mooring grants no rights here: what the caller may not do in the cluster is refused there. docs/adr/0017 says why.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mooring.client.connection import STATE_FOLDER, Endpoint, read_state
from mooring.model.errors import Misconfigured, Refused

_LOOK_SECONDS = 20


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`--kubeconfig`, `--context` and `--container`."""

    kubeconfig: str = ""
    context: str = ""
    container: str = ""


@dataclass(frozen=True, slots=True)
class WorkerPod:
    """A worker's pod. The uid makes sure that the kubeconfig leads to the cluster that Mooring speaks of."""

    namespace: str
    name: str
    uid: str


def find_kubeconfig(endpoint: Endpoint, options: ClusterOptions, state: Path | None) -> str:
    """The one that was given; else that of the local `mooring up` that answers here; else empty: kubectl's own.

    A kubeconfig can start programs. That of the current directory, which may be somebody else's, is only used if its
    folder has the token that Mooring takes.
    """
    if options.kubeconfig or options.context:
        return options.kubeconfig
    named = state or os.environ.get("MOORING_STATE", "")
    folder = Path(named or STATE_FOLDER)
    kept = folder / "kubeconfig"
    if read_state(folder, "url") != endpoint.url or not kept.exists():
        return ""
    return str(kept) if named or read_state(folder, "token") == endpoint.token != "" else ""


class Kubectl:
    """Builds and runs commands of kubectl."""

    def __init__(self, kubeconfig: str, options: ClusterOptions) -> None:
        program = shutil.which("kubectl")
        if program is None:
            raise Misconfigured(
                "kubectl is not found", fix="install kubectl: logs and exec use it with your kubeconfig"
            )
        flags = (("--kubeconfig", kubeconfig), ("--context", options.context))
        self._program = (program, *(word for flag, value in flags if value for word in (flag, value)))
        self._container = ("-c", options.container) if options.container else ()

    def check(self, pod: WorkerPod) -> None:
        """Raise `Refused` unless the kubeconfig's cluster has exactly this pod."""
        words = ("-n", pod.namespace, "get", "pod", pod.name, "-o", "jsonpath={.metadata.uid}")
        timeout = ("--request-timeout", f"{_LOOK_SECONDS}s")
        done = subprocess.run((*self._program, *timeout, *words), capture_output=True, text=True, check=False)
        shown = f"pod {pod.namespace}/{pod.name}"
        if done.returncode:
            fix = "log in to the cluster of this Mooring, or name its --kubeconfig and --context"
            raise Refused(f"kubectl does not find {shown}: {done.stderr.strip()}", fix=fix)
        if done.stdout.strip() != pod.uid:
            message = f"{shown} of your kubeconfig has uid {done.stdout.strip()}, the worker has {pod.uid}"
            raise Refused(message, fix="name the cluster of this Mooring with --kubeconfig and --context")

    def exec_words(self, pod: WorkerPod, command: Sequence[str], *, terminal: bool) -> tuple[str, ...]:
        """The kubectl command line that runs a command in the pod, with the standard streams of the caller."""
        streams = ("-i", "-t") if terminal else ("-i",)
        place = ("-n", pod.namespace, "exec", *streams, *self._container, pod.name)
        return (*self._program, *place, "--", *command)

    def logs_words(self, pod: WorkerPod, flags: Sequence[str]) -> tuple[str, ...]:
        """The words that print the log of the pod."""
        return (*self._program, "-n", pod.namespace, "logs", *self._container, *flags, pod.name)

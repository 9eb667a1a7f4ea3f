"""What every probe is given, and how it tells what it saw."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import EVENTS, PODS

Object = dict[str, Any]
Facts = Any
Probe = Callable[["Probed"], Coroutine[Any, Any, Facts]]

IMAGE = "busybox:stable"
KEEPS = "example.com/keeps"  # a finalizer: the pod's last status can be read after its end
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"\b(10|127)\.\d+\.\d+\.\d+\b")
PATIENCE_SECONDS = 180.0  # a busy machine restarts containers late


@dataclass(frozen=True)
class Probed:
    """A namespace of some cluster."""

    client: KubeClient
    clock: Clock
    namespace: str
    kubectl: str
    kubeconfig: Path

    async def pod(self, name: str, *containers: Object, **spec: Any) -> None:
        """A pod whose containers may leave out name and image. `metadata` is for the pod."""
        metadata = {"name": name, **spec.pop("metadata", {})}
        full = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 3, **spec}
        full["containers"] = [_container(f"c{number}", one) for number, one in enumerate(containers)]
        if "initContainers" in full:
            full["initContainers"] = [
                _container(f"i{number}", one) for number, one in enumerate(full["initContainers"])
            ]
        await self.client.create(PODS.raw(), {"metadata": metadata, "spec": full}, self.namespace)

    async def get(self, name: str) -> Object:
        return await self.client.get(PODS.raw(), name, self.namespace)

    async def until(self, name: str, holds: Callable[[Object], Any], within: float = PATIENCE_SECONDS) -> Object:
        """The pod, once it is so."""
        deadline = self.clock.monotonic() + within
        while not holds(found := await self.get(name)):
            assert self.clock.monotonic() < deadline, f"{name} not within {within} s: {found.get('status')}"
            await self.clock.sleep(0.1)
        return found

    async def until_over(self, name: str) -> Object:
        return await self.until(name, lambda pod: phase(pod) in ("Succeeded", "Failed"))

    async def until_torn_down(self, name: str) -> Object:
        """The pod after its sandbox went too, which a kubelet may report later than the phase."""
        await self.until_over(name)
        return await self.until(name, lambda pod: condition(pod, "PodReadyToStartContainers") != "True")

    async def until_ready(self, name: str) -> Object:
        return await self.until(name, lambda pod: condition(pod, "Ready") == "True")

    async def until_gone(self, name: str) -> None:
        deadline = self.clock.monotonic() + PATIENCE_SECONDS
        try:
            while True:
                await self.get(name)
                assert self.clock.monotonic() < deadline, f"{name} is still there"
                await self.clock.sleep(0.1)
        except ObjectNotFound:
            return

    async def delete(self, name: str, grace_seconds: int | None = None) -> None:
        await self.client.delete(PODS, name, self.namespace, grace_seconds=grace_seconds)

    async def release(self, name: str) -> None:
        """Take the finalizer off."""
        await self.client.merge_patch(PODS.raw(), name, {"metadata": {"finalizers": None}}, self.namespace)

    async def log(self, name: str, **options: Any) -> str:
        """What it wrote, or why that cannot be read."""
        try:
            return await self.client.logs(name, self.namespace, **options)
        except KubeError as error:
            return self.plain(f"refused: {error.message}")

    async def until_log(self, name: str, text: str, **options: Any) -> str:
        deadline = self.clock.monotonic() + PATIENCE_SECONDS
        while text not in (found := await self.log(name, **options)):
            assert self.clock.monotonic() < deadline, f"no {text!r} in {found!r}"
            await self.clock.sleep(0.1)
        return found

    async def execute(self, name: str, *command: str, container: str = "") -> tuple[int, str, str]:
        """`kubectl exec`: exit code, output, error output."""
        which = ["-c", container] if container else []
        argv = [self.kubectl, "--kubeconfig", str(self.kubeconfig), "-n", self.namespace, "exec", name, *which, "--"]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*argv, *command, stdout=pipe, stderr=pipe)
        out, err = await process.communicate()
        assert process.returncode is not None
        told = [
            line for line in err.decode().splitlines(keepends=True) if "] Unknown stream id" not in line
        ]  # kubectl's
        return process.returncode, out.decode(), "".join(told)

    async def events(self, name: str, *reasons: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of a pod's events of these reasons."""
        await self.clock.sleep(1.5)
        found = (await self.client.list(EVENTS.raw(), self.namespace)).items
        mine = [one for one in found if one["involvedObject"]["name"] == name and one["reason"] in reasons]
        return sorted({(one["type"], one["reason"], self.plain(one["message"])) for one in mine})

    def plain(self, text: str) -> str:
        """Without what differs from run to run."""
        return _ADDRESS.sub("<address>", _UID.sub("<uid>", text)).replace(self.namespace, "<namespace>")


def shell(script: str, **fields: Any) -> Object:
    return {"command": ["sh", "-c", script], **fields}


def _container(name: str, given: Object) -> Object:
    return {"name": name, "image": IMAGE, **given}


def phase(pod: Object) -> str:
    return str(pod["status"].get("phase", ""))


def condition(pod: Object, kind: str) -> str:
    found = pod["status"].get("conditions") or ()
    return next((str(one["status"]) for one in found if one["type"] == kind), "")


def conditions(pod: Object) -> list[tuple[str, str, str, str]]:
    found = pod["status"].get("conditions") or ()
    return sorted((one["type"], one["status"], one.get("reason", ""), one.get("message", "")) for one in found)


def statuses(pod: Object, which: str = "containerStatuses") -> list[Object]:
    return pod["status"].get(which) or []


def state(container: Object, which: str = "state") -> Facts:
    """A container's state without times and ids."""
    found = container.get(which) or {}
    left_out = ("startedAt", "finishedAt", "containerID")
    return {kind: {key: value for key, value in one.items() if key not in left_out} for kind, one in found.items()}


def states(pod: Object, which: str = "containerStatuses") -> Facts:
    keys = ("ready", "started", "restartCount")
    return {one["name"]: {**{key: one.get(key) for key in keys}, **state(one)} for one in statuses(pod, which)}

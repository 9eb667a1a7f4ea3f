"""Pods for tests on real nodes, and what is asked of the cluster about them."""

import time
from collections.abc import Callable
from typing import Any

from drydock.kubernetes_fixture import RealKubernetes
from hawser.errors import ObjectNotFound
from hawser.resources import NODES, PODS, SERVICES

Object = dict[str, Any]
IMAGE = "busybox:stable"
PATIENCE_SECONDS = 180.0


def pod(name: str, script: str, node: str = "", **spec: Any) -> Object:
    """A pod of one container that runs a shell script."""
    container = {"name": "main", "image": IMAGE, "command": ["sh", "-c", script], **spec.pop("container", {})}
    placed = {"nodeName": node} if node else {}
    full = {"containers": [container], "terminationGracePeriodSeconds": 1, **placed, **spec}
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": full}


class Hands:
    """What tests do in their namespace."""

    def __init__(self, cluster: RealKubernetes) -> None:
        self.cluster = cluster
        self.namespace = cluster.namespace

    def create(self, body: Object) -> Object:
        return self.cluster.run(lambda client: client.create(PODS.raw(), body, self.namespace))

    def serve(self, name: str, port: int) -> Object:
        """A Service for the pods labelled `app: name`."""
        body = {"metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [{"port": port}]}}
        return self.cluster.run(lambda client: client.create(SERVICES.raw(), body, self.namespace))

    def pod(self, name: str) -> Object:
        return self.cluster.run(lambda client: client.get(PODS.raw(), name, self.namespace))

    def node(self, name: str) -> Object:
        """The node; empty while there is none."""
        try:
            return self.cluster.run(lambda client: client.get(NODES.raw(), name))
        except ObjectNotFound:
            return {}

    def log(self, name: str) -> str:
        return self.cluster.run(lambda client: client.logs(name, self.namespace))

    def until(self, look: Callable[[], Object], holds: Callable[[Object], Any], what: str) -> Object:
        """The object, once it is so."""

        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds(found := look()):
            assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s: {found.get('status')}"
            time.sleep(0.2)
        return found

    def until_ready(self, name: str) -> Object:
        return self.until(lambda: self.pod(name), lambda one: condition(one, "Ready") == "True", f"{name} Ready")

    def until_over(self, name: str) -> Object:
        over = ("Succeeded", "Failed")
        return self.until(lambda: self.pod(name), lambda one: one["status"].get("phase") in over, f"{name} over")

    def until_node(self, name: str, kind: str, status: str) -> Object:
        return self.until(
            lambda: self.node(name), lambda one: condition(one, kind) == status, f"{name} {kind}={status}"
        )


def condition(found: Object, kind: str) -> str:
    conditions = found.get("status", {}).get("conditions") or ()
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")

"""Hands for services on a stage: make one, wait for its word, and carry out a printed fix to the letter."""

import base64
import json
import re
import shlex
from contextlib import AbstractAsyncContextManager
from typing import Any

from drydock import ContainerRun, Script
from hawser.resources import (
    BUDGETS,
    CONFIGMAPS,
    DEPLOYMENTS,
    NODES,
    RESOURCEQUOTAS,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)
from mooring.incidents.split_nodes import demo_nodes
from mooring.incidents.stage import NAMESPACE, Stage, open_stage
from mooring.kinds.resources import MANAGEDSERVICES

KINDS: dict[str, Resource[Any]] = {
    "managedservice": MANAGEDSERVICES,
    "configmap": CONFIGMAPS,
    "secret": SECRETS,
    "serviceaccount": SERVICEACCOUNTS,
    "resourcequota": RESOURCEQUOTAS,
}


PLACED = {"placement": {"nodePool": "blast"}}
CRASHING = "api:crashing"


def script(run: ContainerRun) -> Script | None:
    return Script(run_seconds=1.0, exit_code=3, logs=["broken"]) if run.image == CRASHING else None


def on_stage(seed: int = 1) -> AbstractAsyncContextManager[Stage]:
    """With the demo's nodes: two for the system, ten for work, all tainted."""
    return open_stage(seed, demo_nodes(), script)


def condition(status: dict[str, Any], type_: str) -> str:
    return str(next(one["status"] for one in status["conditions"] if one["type"] == type_))


async def objects(stage: Stage) -> int:
    """How many objects services have in the cluster."""
    kinds = (DEPLOYMENTS, SERVICES, BUDGETS)
    return sum([len((await stage.client.list(kind, NAMESPACE)).items) for kind in kinds])


async def create(stage: Stage, name: str = "api", **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"image": "api:1", "port": 8080, **spec}}
    await stage.client.create(MANAGEDSERVICES, body, NAMESPACE)


async def change(stage: Stage, name: str = "api", **spec: Any) -> None:
    await stage.client.merge_patch(MANAGEDSERVICES, name, {"spec": spec}, NAMESPACE)


async def status_of(stage: Stage, name: str = "api") -> dict[str, Any]:
    return dict((await stage.client.get(MANAGEDSERVICES.raw(), name, NAMESPACE)).get("status") or {})


def code_of(status: dict[str, Any]) -> str:
    """Why it serves or does not, as programs read it."""
    return next((one["reason"] for one in status.get("conditions", ()) if one["type"] == "Serving"), "")


async def until_code(stage: Stage, code: str, within: float = 200.0, name: str = "api") -> dict[str, Any]:
    async def holds() -> bool:
        return code_of(await status_of(stage, name)) == code

    try:
        await stage.until(holds, within, code)
    except Exception as error:
        raise AssertionError(f"no {code} within {within} s: {await status_of(stage, name)}") from error
    return await status_of(stage, name)


async def until_serving(stage: Stage, within: float = 200.0, name: str = "api") -> dict[str, Any]:
    status = await until_code(stage, "Serving", within, name)
    assert status["phase"] == "Serving"
    return status


def fill_in(fix: str, answers: dict[str, str]) -> str:
    """What only its reader can know, in place of the angle brackets."""
    for blank, answer in answers.items():
        assert blank in fix, f"{blank} is not asked for in: {fix}"
        fix = fix.replace(blank, answer)
    assert not re.search(r"<[/A-Z_]+>", fix), f"still a blank in: {fix}"
    return fix


async def carry_out(stage: Stage, fix: str) -> None:
    """Do what kubectl would do; a command it does not know fails the test."""
    for command in fix.split(" && "):
        match shlex.split(command):
            case ["kubectl", "-n", namespace, "patch", kind, name, "--type", "merge", "-p", body]:
                await stage.client.merge_patch(KINDS[kind], name, json.loads(body), namespace)
            case ["kubectl", "uncordon", name]:
                await stage.client.merge_patch(NODES, name, {"spec": {"unschedulable": None}})
            case ["kubectl", "-n", namespace, "scale", "deployment", name, replicas]:
                scaled = {"spec": {"replicas": int(replicas.removeprefix("--replicas="))}}
                await stage.client.merge_patch(DEPLOYMENTS, name, scaled, namespace, field_manager="kubectl")
            case ["kubectl", "-n", namespace, "create", "serviceaccount", name]:
                await stage.client.create(SERVICEACCOUNTS, {"metadata": {"name": name}}, namespace)
            case ["kubectl", "-n", namespace, "create", "configmap", name, *literals]:
                pairs = dict(literal.removeprefix("--from-literal=").split("=", 1) for literal in literals)
                await stage.client.create(CONFIGMAPS, {"metadata": {"name": name}, "data": pairs}, namespace)
            case ["kubectl", "-n", namespace, "patch", "serviceaccount" as kind, name, "-p", body]:
                # The type of the patch is strategic: entries are added to the list by their names.
                found = await stage.client.get(KINDS[kind].raw(), name, namespace)
                secrets = {one["name"]: one for one in found.get("imagePullSecrets") or []}
                secrets |= {one["name"]: one for one in json.loads(body)["imagePullSecrets"]}
                patch = {"imagePullSecrets": list(secrets.values())}
                await stage.client.merge_patch(KINDS[kind], name, patch, namespace)
            case ["kubectl", "-n", namespace, "create", "secret", "docker-registry", name, *options, "|", _, _, _, _]:
                given = dict(
                    option.removeprefix("--docker-").split("=", 1) for option in options if "--docker-" in option
                )
                auths = {"auths": {given["server"]: {"username": given["username"], "password": given["password"]}}}
                text = base64.b64encode(json.dumps(auths).encode()).decode()
                body = {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": text}}
                await stage.client.create(SECRETS, {"metadata": {"name": name}, **body}, namespace)
            case ["kubectl", "-n", namespace, "rollout", "restart", "deployment", name]:
                template = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}
                await stage.client.merge_patch(DEPLOYMENTS, name, {"spec": {"template": template}}, namespace)
            case unknown:
                raise AssertionError(f"nobody can run {unknown}")

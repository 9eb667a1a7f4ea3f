"""Each way in which a service fails shows its reason; the fix it prints, carried out to the letter, makes it serve."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from drydock import ContainerRun, Script
from hawser.resources import CONFIGMAPS, NODES, RESOURCEQUOTAS
from mooring.controllers.services.document import Question
from mooring.incidents.split_nodes import demo_nodes
from mooring.incidents.stage import NAMESPACE, Stage, open_stage
from mooring.model.service_observations import Answer, Outcome
from packages.mooring.tests.controllers.services.hands import (
    PLACED,
    carry_out,
    create,
    fill_in,
    until_code,
    until_serving,
)


async def _nothing(_: Stage) -> None:
    return None


@dataclass(frozen=True)
class Case:
    """One broken service."""

    code: str
    spec: dict[str, Any]
    says: str  # part of the reason
    blanks: dict[str, str] = field(default_factory=dict)  # what the reader of the fix fills in
    fix: str = ""  # part of the fix, where it matters to the letter
    before: Callable[[Stage], Awaitable[None]] = _nothing
    placed: bool = True
    phase: str = "Failed"


def variable(name: str, kind: str, key: str) -> dict[str, Any]:
    return {"env": [{"name": "MODE", "valueFrom": {kind: {"name": name, "key": key}}}]}


async def make_settings(stage: Stage) -> None:
    await stage.client.create(CONFIGMAPS, {"metadata": {"name": "settings"}, "data": {"other": "x"}}, NAMESPACE)


async def limit_pods(stage: Stage) -> None:
    await stage.client.create(RESOURCEQUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "0"}}}, NAMESPACE)


async def old_path_is_html(stage: Stage) -> None:
    stage.documents.pages["/old"] = Answer(Outcome.NOT_A_DOCUMENT, "it is not JSON: invalid character", 200)


async def old_path_redirects(stage: Stage) -> None:
    stage.documents.pages["/old"] = Answer(Outcome.REDIRECT, "redirects with 302", 302)


async def bad_image_answers_500(stage: Stage) -> None:
    def answer(question: Question) -> Answer | None:
        pods = [pod for pod in stage.watch.cache.values() if pod.status.pod_ip == question.address]
        bad = any(pod.spec.containers[0].image == "api:bad" for pod in pods)
        return Answer(Outcome.BAD_STATUS, "answered 500", 500) if bad else None

    stage.documents.answers = answer


async def cordon_all(stage: Stage) -> None:
    for node in (await stage.client.list(NODES)).items:
        await stage.client.merge_patch(NODES, node.metadata.name, {"spec": {"unschedulable": True}})


async def listens_on_9000(stage: Stage) -> None:
    stage.documents.listens = frozenset({9000})


def script(run: ContainerRun) -> Script | None:
    """What the containers of these services do."""
    image, asked = run.image, int(run.spec["ports"][0]["containerPort"])
    if image == "api:moody" and "MODE" not in run.environment:
        return Script(run_seconds=1.0, exit_code=1, reason="Error", logs=["starting", "KeyError: 'MODE'"])
    if image == "api:bad":
        return Script(ready_seconds=1e9)
    if image == "api:mute" and asked != 9000:
        return Script(ready_seconds=1e9)
    if image == "api:9000" and asked != 9000:
        return Script(ready_seconds=1e9, logs=["tides: listening on 0.0.0.0 port 9000"])
    if list(run.command) == ["/no/such/program"]:
        return Script(start_error='exec: "/no/such/program": no such file or directory')
    return None


BROKEN = {
    "no-placement": Case("Unschedulable", {}, "0 of 12 nodes fit", fix='{"nodePool": "blast"}', placed=False),
    "unknown-pool-and-cordons": Case(
        "Unschedulable",
        {"placement": {"nodePool": "nope"}},
        "no node belongs to a pool named 'nope'",
        fix='{"nodePool": "blast"}}}\' && kubectl uncordon work-01',
        before=cordon_all,
        placed=False,
    ),
    "private-image": Case(
        "ImageUnauthorized",
        {"image": "private.example.invalid/api:1"},
        "(401)",
        {"<USER>": "me", "<PASSWORD>": "secret"},
        "--docker-server=private.example.invalid",
    ),
    "missing-image": Case("ImageNotFound", {"image": "missing.example.invalid/api:9"}, "(404)", {"<TAG>": "latest"}),
    "slow-registry": Case(
        "RegistryUnreachable",
        {"image": "slow.example.invalid/api:1"},
        "i/o timeout",
        {"<REACHABLE_REGISTRY>": "registry.example"},
    ),
    "crash-loop": Case("CrashLooping", {"image": "api:moody"}, "exit code 1", {"<VALUE>": "fast"}, '"name": "MODE"'),
    "missing-key": Case(
        "ConfigMissing",
        variable("settings", "configMapKeyRef", "mode"),
        "the ConfigMap settings has no key mode",
        {"<VALUE>": "fast"},
        before=make_settings,
    ),
    "missing-map": Case(
        "ConfigMissing",
        variable("settings", "configMapKeyRef", "mode"),
        "there is no ConfigMap settings",
        {"<VALUE>": "fast"},
        "create configmap settings",
    ),
    "probe-failing": Case(
        "ProbeFailing",
        {"image": "api:bad"},
        "answered 500",
        {"<REPAIRED_IMAGE>": "api:1"},
        before=bad_image_answers_500,
    ),
    "wrong-port": Case(
        "PortMismatch",
        {"image": "api:9000"},
        "nothing listens on port 8080",
        fix='"port": 9000',
        before=listens_on_9000,
    ),
    "silent-port": Case(
        "PortMismatch",
        {"image": "api:mute"},
        "nothing listens on port 8080",
        {"<PORT>": "9000"},
        before=listens_on_9000,
    ),
    "quota": Case("QuotaExceeded", {}, "the quota few is used up", fix='"pods": "2"', before=limit_pods),
    "start-refused": Case(
        "StartRefused", {"command": ["/no/such/program"]}, "cannot be started", {"<PROGRAM>": "/bin/api"}
    ),
    "no-document": Case("DocumentNotFound", {"openapiPath": "/old"}, "404", {"</PATH>": "/openapi.json"}),
    "html-document": Case(
        "DocumentInvalid",
        {"openapiPath": "/old"},
        "it is not JSON",
        {"</PATH>": "/openapi.json"},
        before=old_path_is_html,
    ),
    "redirect": Case(
        "DocumentRedirects", {"openapiPath": "/old"}, "302", {"</PATH>": "/openapi.json"}, before=old_path_redirects
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_service_says_why_and_its_fix_makes_it_serve(name: str):
    case = BROKEN[name]

    async with open_stage(1, demo_nodes(), script) as stage:
        await case.before(stage)
        stage.start()
        await create(stage, **case.spec, **(PLACED if case.placed else {}))
        status = await until_code(stage, case.code)
        assert status["phase"] == case.phase
        assert case.says in status["reason"]
        assert case.fix in status["fix"]
        await carry_out(stage, fill_in(status["fix"], case.blanks))
        served = await until_serving(stage, 400)
        assert served["api"] == {"title": "Staged", "endpoints": 1} and not served["fix"]


async def test_a_crash_loop_shows_the_lines_that_explain_it():
    async with open_stage(1, demo_nodes(), script) as stage:
        stage.start()
        await create(stage, image="api:moody", **PLACED)
        status = await until_code(stage, "CrashLooping")
        assert status["failure"]["logs"] == ["starting", "KeyError: 'MODE'"]
        assert status["failure"]["exitCode"] == 1 and "KeyError: 'MODE'" in status["reason"]

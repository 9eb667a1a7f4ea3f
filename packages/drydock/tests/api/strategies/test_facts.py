"""Drydock answers as a real kube-apiserver has: the cases and its recorded answers are in `facts/`."""

import functools
from typing import Any

import pytest

from drydock.virtual.loop import run_virtual
from packages.drydock.tests.api.caller import START, caller
from packages.drydock.tests.api.facts.play import HERE, answers, load, play, set_up

_FAMILIES = sorted(path.stem for path in HERE.glob("*.yaml"))
_CASES = [(family, case["name"]) for family in _FAMILIES for case in load(family)["cases"]]


@functools.cache
def played(family: str) -> dict[str, list[Any]]:
    """Drydock's answers to all cases of a family, one after the other on one server."""

    async def play_all() -> dict[str, list[Any]]:
        call = caller()
        written = load(family)

        async def send(method: str, path: str, body: Any, content_type: str) -> tuple[int, Any]:
            answer = await call(method, path, body, type=content_type)
            is_json = "json" in answer.headers.get("content-type", "")
            return answer.status, answer.body if is_json else answer.raw.decode()

        await set_up(send, written)
        return {case["name"]: await play(send, written, case) for case in written["cases"]}

    return run_virtual(play_all, seed=1, start=START)


@pytest.mark.parametrize(("family", "case"), _CASES, ids=lambda value: value)
def test_drydock_answers_as_kubernetes_does(family: str, case: str) -> None:
    recorded = answers(family)[case]
    for step, (ours, theirs) in enumerate(zip(played(family)[case], recorded, strict=True)):
        assert without_actors(ours) == without_actors(theirs), f"step {step}"


def test_every_recorded_case_is_still_played() -> None:
    for family in _FAMILIES:
        assert answers(family).keys() == {case["name"] for case in load(family)["cases"]}


def without_actors(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what needs someone behind the server: the recorded one had nobody, and drydock has not all.

    Pods of drydock have a service account; its nodes are not tainted and its claims not held until someone looks.
    """
    shown = answer.get("object") or {}
    metadata, spec = shown.get("metadata") or {}, shown.get("spec") or {}
    match shown.get("kind"):
        case "Pod":
            spec = {key: value for key, value in spec.items() if not key.startswith("serviceAccount")}
        case "Node":
            taints = [taint for taint in spec.get("taints") or () if taint["key"] != "node.kubernetes.io/not-ready"]
            spec = {key: value for key, value in spec.items() if key != "taints"} | (
                {"taints": taints} if taints else {}
            )
        case "PersistentVolumeClaim":
            metadata = {key: value for key, value in metadata.items() if key != "finalizers"}
        case _:
            return answer
    return {**answer, "object": {**shown, "metadata": metadata, "spec": spec}}

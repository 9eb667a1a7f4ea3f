"""The sandbox answers as a real kube-apiserver has: the cases and its recorded answers are in `facts/`."""

from typing import Any

import pytest
from tests.sandbox.api.caller import START, caller
from tests.sandbox.api.facts.play import HERE, answers, load, play

from mooring.sandbox.virtual import run_virtual

_CASES = [
    pytest.param(path.stem, case, id=f"{path.stem}: {case['name']}")
    for path in sorted(HERE.glob("*.yaml"))
    for case in load(path.stem)["cases"]
]


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_the_sandbox_answers_as_kubernetes_does(family: str, case: dict[str, Any]) -> None:
    async def played() -> list[Any]:
        call = caller()

        async def send(method: str, path: str, body: Any, content_type: str) -> tuple[int, Any]:
            answer = await call(method, path, body, type=content_type)
            return answer.status, answer.body

        return await play(send, load(family), case)

    got = run_virtual(played, seed=1, start=START)
    for step, (ours, theirs) in enumerate(zip(got, answers(family)[case["name"]], strict=True)):
        assert without_actors(ours) == without_actors(theirs), f"step {step}"


def without_actors(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what needs someone behind the server: the recorded one had nobody, and the sandbox has not all.

    Pods of the sandbox have a service account; its nodes are not tainted and its claims not held until someone looks.
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

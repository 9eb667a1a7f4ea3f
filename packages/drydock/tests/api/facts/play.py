"""Cases: an object, and what is done to it step by step, on drydock and on a real kube-apiserver.

A file has `objects` by name and `cases`; with `managed: true` managedFields are compared too, and the definitions in
`setup` are served first. A case has a `name`, the object to `create`, what to lay over it (`with`), a manager if it is
to be created by apply (`applied`), and what comes `then`: {merge: ..., at: status, manager: me, force: true}, or json,
strategic, apply, replace, delete, post.
"""

import asyncio
import functools
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

HERE = Path(__file__).parent
Send = Callable[[str, str, Any, str], Awaitable[tuple[int, Any]]]

_CONTENT_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_JSON = "application/json"
_VOLATILE = ("creationTimestamp", "resourceVersion", "uid")
_ADDRESS = re.compile(r"10\.\d+\.\d+\.\d+")
_TIME = re.compile(r'("(?:deletionTimestamp|lastTransitionTime)": )"[^"]+"')
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GO_DIFF = re.compile(r"\n@@.*", re.DOTALL)
_NODE_PORT = re.compile(r'("nodePort": )\d+')


@functools.cache
def load(name: str) -> dict[str, Any]:
    """The cases of a file."""
    loaded: dict[str, Any] = yaml.load((HERE / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    return loaded


@functools.cache
def answers(name: str) -> dict[str, list[Any]]:
    """What a real server has answered to them."""
    loaded: dict[str, list[Any]] = json.loads((HERE / f"{name}.json").read_text())
    return loaded


async def set_up(send: Send, written: dict[str, Any]) -> None:
    """Create what the cases of a file need, and wait for it."""
    for definition in written.get("setup", []):
        await send("POST", await _collection(send, definition), definition, _JSON)
        spec = definition["spec"]
        made = {"apiVersion": f"{spec['group']}/{spec['versions'][0]['name']}", "kind": spec["names"]["kind"]}
        while not await _served(send, made):
            await asyncio.sleep(0.05)


async def play(send: Send, written: dict[str, Any], case: dict[str, Any]) -> list[Any]:
    """The answers to the steps of a case of a file."""
    first = merged(written["objects"][case["create"]], case.get("with", {}))
    collection = await _collection(send, first)
    item = f"{collection}/{first['metadata'].get('name', '')}"
    if case.get("applied"):
        path = f"{item}?{urlencode({'fieldManager': case['applied']})}"
        got = [await send("PATCH", path, first, _CONTENT_TYPES["apply"])]
    else:
        got = [await send("POST", f"{collection}?fieldManager=facts", first, _JSON)]
    for step in case.get("then", []):
        got.append(await _take(send, item, step))
    if first["metadata"].get("name"):
        await _wipe(send, item)
    managed = bool(written.get("managed"))
    return [_shown(first, status, body, managed=managed) for status, body in got]


async def _collection(send: Send, obj: dict[str, Any]) -> str:
    found = (await _served(send, obj))[0]
    base = _base(obj)
    return f"{base}/namespaces/default/{found['name']}" if found["namespaced"] else f"{base}/{found['name']}"


async def _served(send: Send, obj: dict[str, Any]) -> list[dict[str, Any]]:
    body = (await send("GET", _base(obj), None, _JSON))[1]
    served = body.get("resources", []) if isinstance(body, dict) else []
    return [each for each in served if each["kind"] == obj["kind"] and "/" not in each["name"]]


def _base(obj: dict[str, Any]) -> str:
    return f"/apis/{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"/api/{obj['apiVersion']}"


async def _take(send: Send, item: str, step: dict[str, Any]) -> tuple[int, Any]:
    path = f"{item}/{step['at']}" if step.get("at") else item
    manager = step.get("manager", "" if "apply" in step else "facts")
    options = {"fieldManager": manager, "force": str(step["force"]).lower() if "force" in step else ""}
    path = f"{path}?{urlencode({key: value for key, value in options.items() if value})}"
    for patch, content_type in _CONTENT_TYPES.items():
        if patch in step:
            return await send("PATCH", path, step[patch], content_type)
    if "replace" in step:
        _, current = await send("GET", item, None, _JSON)
        return await send("PUT", path, merged(current, step["replace"]), _JSON)
    if "delete" in step:
        return await send("DELETE", path.partition("?")[0], step["delete"] or None, _JSON)
    return await send("POST", path, step["post"], _JSON)


async def _wipe(send: Send, item: str) -> None:
    await send("DELETE", item, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}, _JSON)
    while (answer := await send("GET", item, None, _JSON))[0] == 200:
        await send("PATCH", item, {"metadata": {"finalizers": None}}, _CONTENT_TYPES["merge"])
        if re.fullmatch("/api/v1/namespaces/[^/]+", item):
            await send("PUT", f"{item}/finalize", {**answer[1], "spec": {"finalizers": []}}, _JSON)
        await send("DELETE", item, {"gracePeriodSeconds": 0}, _JSON)


def merged(base: Any, changes: Any) -> Any:
    """A merge patch, for writing cases as differences."""
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value) if isinstance(value, dict) and key in result else value
    return result


def _shown(first: dict[str, Any], status: int, body: Any, *, managed: bool) -> Any:
    """An answer without what differs from run to run, and from drydock on purpose."""
    text = _UID.sub("<uid>", json.dumps(_answer(status, body, managed=managed), sort_keys=True))
    if prefix := first["metadata"].get("generateName"):
        text = re.sub(rf"{re.escape(prefix)}[a-z0-9]{{5}}", f"{prefix}#####", text)
    if first["kind"] == "Service":
        text = _NODE_PORT.sub(r'\1"<port>"', _ADDRESS.sub("<address>", text))
    return json.loads(_TIME.sub(r'\1"<time>"', text))


def _answer(status: int, body: Any, *, managed: bool) -> dict[str, Any]:
    if body.get("kind") == "Status" and "code" in body:
        causes = (body.get("details") or {}).get("causes", [])
        told_once = [{**cause, "message": _GO_DIFF.sub("", cause["message"])} for cause in causes]
        unique = sorted({json.dumps(cause, sort_keys=True) for cause in told_once})
        told = {"code": status, "reason": body.get("reason", ""), "causes": [json.loads(cause) for cause in unique]}
        # The order of what is said about a map's entries is not fixed.
        return told if len(unique) > 1 else {**told, "message": _GO_DIFF.sub("", body["message"])}
    if "metadata" not in body:
        return {"code": status, "object": body}
    metadata = {key: value for key, value in body["metadata"].items() if key not in _VOLATILE}
    entries = metadata.pop("managedFields", [])
    if managed:
        metadata["managedFields"] = [{key: entry[key] for key in entry if key != "time"} for entry in entries]
    return {"code": status, "object": {**body, "metadata": metadata}}

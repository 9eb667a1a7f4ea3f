"""Record what a real kube-apiserver answers to the cases beside this file.

    python -m packages.drydock.tests.api.shapes.record https://127.0.0.1:6443 TOKEN

The server should be a throwaway one without controllers, started with `--disable-admission-plugins=ServiceAccount`.
"""

import http.client
import json
import ssl
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from packages.drydock.tests.api.shapes import cases
from packages.drydock.tests.api.shapes.cases import GROUP, HERE, Json

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_SETTLING_SECONDS = 2.0


class Server:
    """One connection to the server."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        context = ssl._create_unverified_context()
        self._connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=context)
        self._headers = {"Authorization": f"Bearer {token}"}

    def __call__(self, method: str, path: str, body: Any = None, *, accept: str = "application/json") -> Json:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {**self._headers, "Accept": accept, "Content-Type": kind}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer: Json = json.loads(self._connection.getresponse().read())
        return answer


def refusal(answer: Json) -> list[list[str]]:
    """The causes of a refusal; nothing for anything else."""
    details = answer.get("details") or {} if answer["kind"] == "Status" else {}
    return sorted([cause["reason"], cause["field"], cause["message"]] for cause in details.get("causes", []))


def main() -> None:
    server = Server(*sys.argv[1:3])
    _write("definitions", record_definitions(server))
    _write("objects", record_objects(server))
    _write("rules", record_rules(server))
    _write("tables", record_tables(server))


def record_definitions(server: Server) -> Json:
    found = {}
    for case in cases.load("definitions"):
        found[case["name"]] = refusal(server("POST", f"{_DEFINITIONS}?dryRun=All", cases.changed_definition(case)))
    return found


def record_objects(server: Server) -> list[Json]:
    with_definition(server, cases.gadget_definition())
    found = []
    for spec in cases.load("objects")["specs"]:
        path = f"/apis/{GROUP}/v1/namespaces/default/gadgets?dryRun=All"
        answer = server("POST", path, cases.custom("Gadget", spec))
        found.append({"causes": refusal(answer), "spec": answer.get("spec")})
    server("DELETE", f"{_DEFINITIONS}/gadgets.{GROUP}")
    return found


def record_rules(server: Server) -> Json:
    found: Json = {}
    written = cases.load("rules")
    running = []
    for rule in written["rules"]:
        wrong = refusal(server("POST", f"{_DEFINITIONS}?dryRun=All", cases.ruled_definition([rule])))
        if wrong:
            found[rule] = {
                "refused": wrong[0][2].partition("compilation failed: ")[2].partition("\n")[0] or wrong[0][2]
            }
        else:
            running.append(rule)
    for start in range(0, len(running), 15):
        batch = running[start : start + 15]
        with_definition(server, cases.ruled_definition(batch))
        for name, spec in (("full", written["object"]), ("empty", {})):
            path = f"/apis/{GROUP}/v1/namespaces/default/ruleds?dryRun=All"
            told = [cause[2] for cause in refusal(server("POST", path, cases.custom("Ruled", spec)))]
            for rule in batch:
                found.setdefault(rule, {})[name] = next((text for text in told if text.endswith(f"rule: {rule}")), "")
        server("DELETE", f"{_DEFINITIONS}/ruleds.{GROUP}")
        time.sleep(_SETTLING_SECONDS)
    return found


def record_tables(server: Server) -> Json:
    found: Json = {}
    written = cases.load("tables")
    for path in written["columns"]:
        columns = server("GET", f"{path}?limit=1", accept=_TABLE)["columnDefinitions"]
        found[path] = [[column["name"], column["type"], column["format"], column["priority"]] for column in columns]
    for case in written["rows"]:
        whole = {**case["object"], "metadata": {"name": "t", **case["object"].get("metadata", {})}}
        item = f"{case['path']}/t"
        answer = server("POST", case["path"], whole)
        if answer["kind"] == "Status":
            raise SystemExit(f"{case['name']}: {answer['message']}")
        if "status" in whole:
            server("PATCH", f"{item}/status", {"status": whole["status"]})
        found[case["name"]] = server("GET", item, accept=_TABLE)["rows"][0]["cells"]
        server("DELETE", item, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        server("PATCH", item, {"metadata": {"finalizers": None}})  # nobody else is there to let go of it
    return found


def with_definition(server: Server, definition: Json) -> None:
    """Create a definition and wait until it is served."""
    answer = server("POST", _DEFINITIONS, definition)
    if answer["kind"] == "Status":
        raise SystemExit(answer["message"])
    time.sleep(_SETTLING_SECONDS)


def _write(name: str, found: Any) -> None:
    (HERE / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

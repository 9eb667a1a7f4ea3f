"""Writes rest.json and webhooks.json: what the tests need of GitHub's published schemas, as JSON Schema.

    npm pack @octokit/openapi@23.0.2 @octokit/webhooks-schemas@7.6.1      # unpack both
    python excerpt.py openapi/generated/api.github.com.json webhooks/schema.json

Texts and examples are left out, `nullable` of OpenAPI 3.0 becomes a type, and nothing else is changed.
"""

import json
import sys
from pathlib import Path
from typing import Any

OPERATIONS = (
    ("post", "/app/installations/{installation_id}/access_tokens"),
    ("get", "/installation/repositories"),
    ("post", "/repos/{owner}/{repo}/actions/runners/generate-jitconfig"),
    ("post", "/orgs/{org}/actions/runners/generate-jitconfig"),
    ("get", "/repos/{owner}/{repo}/actions/runners"),
    ("get", "/orgs/{org}/actions/runners"),
    ("delete", "/repos/{owner}/{repo}/actions/runners/{runner_id}"),
    ("delete", "/orgs/{org}/actions/runners/{runner_id}"),
    ("get", "/repos/{owner}/{repo}/actions/runs"),
    ("get", "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs"),
    ("get", "/repos/{owner}/{repo}/actions/jobs/{job_id}"),
)
EVENTS = tuple(f"workflow_job${action}" for action in ("completed", "in_progress", "queued", "waiting"))
_TEXTS = {"description", "example", "examples", "externalDocs", "x-github", "operationId", "summary", "tags", "title"}


class Excerpt:
    """Copies schemas with everything that they refer to."""

    def __init__(self, source: dict[str, Any], root: str) -> None:
        self._source = source
        self._root = root
        self.definitions: dict[str, Any] = {}

    def copy(self, node: Any, names: bool = False) -> Any:
        """`names`: the keys of this object are names of properties, not words of JSON Schema."""
        if isinstance(node, list):
            return [self.copy(item) for item in node]
        if not isinstance(node, dict):
            return node
        if isinstance(node.get("$ref"), str):
            return {"$ref": f"#/definitions/{self._define(node['$ref'])}"}
        kept = {
            key: self.copy(value, names=key in ("properties", "patternProperties") and not names)
            for key, value in node.items()
            if names or (key not in _TEXTS and key != "nullable")
        }
        if not names and node.get("nullable"):
            return {"anyOf": [kept, {"type": "null"}]}
        return kept

    def _define(self, reference: str) -> str:
        name = reference.rpartition("/")[2]
        if name not in self.definitions:
            self.definitions[name] = None
            found: Any = self._source
            for part in reference.removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/")]
            self.definitions[name] = self.copy(found)
        return name


def excerpt_rest(openapi: dict[str, Any]) -> dict[str, Any]:
    """Parameters, request bodies and answers of the operations."""
    excerpt = Excerpt(openapi, "components")
    operations = {}
    for method, path in OPERATIONS:
        found = openapi["paths"][path][method]
        parameters = [_resolve(openapi, one) for one in found.get("parameters", ())]
        body = found.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        answers = {}
        for status, answer in found["responses"].items():
            content = _resolve(openapi, answer).get("content", {}).get("application/json", {})
            answers[status] = excerpt.copy(content["schema"]) if "schema" in content else None
        operations[f"{method.upper()} {path}"] = {
            "query": {one["name"]: excerpt.copy(one["schema"]) for one in parameters if one["in"] == "query"},
            "body": excerpt.copy(body) if body else None,
            "answers": answers,
        }
    source = "@octokit/openapi 23.0.2 (MIT), generated from github/rest-api-description (MIT)"
    return {"source": source, "operations": operations, "definitions": excerpt.definitions}


def excerpt_webhooks(schema: dict[str, Any]) -> dict[str, Any]:
    """The payloads of `workflow_job`."""
    excerpt = Excerpt(schema, "definitions")
    events = {name.partition("$")[2]: excerpt.copy({"$ref": f"#/definitions/{name}"}) for name in EVENTS}
    source = "@octokit/webhooks-schemas 7.6.1 (MIT), from octokit/webhooks"
    return {"source": source, "events": events, "definitions": excerpt.definitions}


def _resolve(openapi: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = openapi
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    resolved: dict[str, Any] = found
    return resolved


def main() -> None:
    """Read the two packages, write the two excerpts."""
    here = Path(__file__).parent
    rest = excerpt_rest(json.loads(Path(sys.argv[1]).read_text()))
    webhooks = excerpt_webhooks(json.loads(Path(sys.argv[2]).read_text()))
    (here / "rest.json").write_text(json.dumps(rest, sort_keys=True, separators=(",", ":")) + "\n")
    (here / "webhooks.json").write_text(json.dumps(webhooks, sort_keys=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()

"""Record what a real kube-apiserver answers to the cases beside this file.

    python -m packages.drydock.tests.api.facts.record https://127.0.0.1:6443 TOKEN [--check] [name...]

The answers to `<name>.yaml` go to `<name>.json`; `--check` compares instead. The server should be a throwaway one
without controllers, started with `--disable-admission-plugins=ServiceAccount`.
"""

import argparse
import asyncio
import http.client
import json
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from packages.drydock.tests.api.facts.play import HERE, Send, answers, load, play, set_up


@contextmanager
def sender(address: str, token: str) -> Iterator[Send]:
    """Sends requests over one connection."""
    parts = urlsplit(address)
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=context)
    headers = {"Authorization": f"Bearer {token}", "User-Agent": "facts/1", "Accept": "application/json"}

    async def send(method: str, path: str, body: Any, content_type: str) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {**headers, "Content-Type": content_type})
        answer = connection.getresponse()
        text = answer.read()
        is_json = "json" in answer.headers.get("Content-Type", "")
        return answer.status, json.loads(text) if is_json else text.decode()

    try:
        yield send
    finally:
        connection.close()


async def record(send: Send, name: str) -> dict[str, list[Any]]:
    """The answers to all cases of a file."""
    written = load(name)
    await set_up(send, written)
    return {case["name"]: await play(send, written, case) for case in written["cases"]}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("address")
    arguments.add_argument("token")
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--check", action="store_true")
    given = arguments.parse_args()
    wrong = []
    for name in given.names or sorted(path.stem for path in HERE.glob("*.yaml")):
        with sender(given.address, given.token) as send:
            got = asyncio.run(record(send, name))
        if given.check:
            wrong += [f"{name}: {case}" for case, answer in got.items() if answers(name).get(case) != answer]
        else:
            (HERE / f"{name}.json").write_text(json.dumps(got, indent=1, sort_keys=True) + "\n")
    print("\n".join(["the server answers differently:", *wrong]) if wrong else "recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

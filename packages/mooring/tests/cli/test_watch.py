"""`--watch`: changes are printed; with ndjson as `{type, object}`."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest

from packages.mooring.tests.acceptance.pools import own_pool
from packages.mooring.tests.acceptance.world import MOORING, Up, clean_environment, run_command, running_up
from packages.mooring.tests.http_servers import serving

Change = dict[str, Any]


class Watch:
    """A command that keeps telling."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def first(self, matches: Callable[[Change], bool]) -> Change:
        """The next change that matches; the test's time limit is the server's heartbeat."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            change = json.loads(line)
            assert change.keys() == {"type", "object"}
            if matches(change):
                return dict(change)
        raise AssertionError("the watch ended")


@contextmanager
def watching(up: Up, *arguments: str) -> Iterator[Watch]:
    command = [MOORING, *arguments, "--watch", "-o", "ndjson", "--state", str(up.state)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()
    )
    try:
        yield Watch(process)
    finally:
        process.kill()
        process.communicate()


def test_a_watch_prints_the_current_rows_and_then_their_changes(up: Up):
    with watching(up, "invariants") as watch:
        known = watch.first(lambda change: change["object"]["id"] == "adopted")
        assert known["type"] == "ADDED"
        up.command("pause", "adopted", "--reason", "watched")
        try:
            paused = watch.first(lambda change: change["object"]["id"] == "adopted")
        finally:
            up.command("resume", "adopted")
        assert (paused["type"], paused["object"]["state"]) == ("MODIFIED", "paused")


def test_a_new_row_of_the_trail_is_an_addition(up: Up):
    with watching(up, "audit") as watch:
        up.command("resume", "adopted", "--reason", "a watched resume")
        told = watch.first(lambda change: change["object"]["reason"] == "a watched resume")
        assert told["type"] == "ADDED"


def test_a_pool_and_its_workers_come_and_go(up: Up):
    with watching(up, "pools") as pools, ExitStack() as late:
        with own_pool(up, "watched", warm=1, max=1):
            assert pools.first(lambda change: change["object"]["name"] == "watched")["type"] == "ADDED"
            # Not before: a pool that does not exist is refused.
            workers = late.enter_context(watching(up, "workers", "--pool", "acceptance/watched"))
            idle = workers.first(lambda change: change["object"]["state"] == "idle")
            assert idle["object"]["name"] == "watched-0"
        assert pools.first(lambda change: change["type"] == "DELETED")["object"]["name"] == "watched"
        assert workers.first(lambda change: change["type"] == "DELETED")["object"]["name"] == "watched-0"


class ScriptedServer(BaseHTTPRequestHandler):
    """Answers with one list of nodes after another, and with a stream of events that ends."""

    lists: ClassVar[list[list[str]]] = []
    events: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        if self.path.startswith("/v1/events"):
            body = "".join(f'id: 1\nevent: {event}\ndata: {{"changes": {{}}}}\n\n' for event in self.events)
        else:
            names = self.lists.pop(0)
            body = json.dumps({"items": [{"name": name} for name in names], "total": len(names)})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def scripted() -> Iterator[str]:
    with serving(ScriptedServer) as address:
        yield address


def test_after_a_gap_everything_is_read_again_and_an_ended_stream_is_a_failure(scripted: str):
    ScriptedServer.lists = [["a", "b"], ["b", "c"]]
    ScriptedServer.events = ["heartbeat", "heartbeat", "resync"]
    done = run_command("nodes", "--watch", "-o", "ndjson", "--url", scripted, "--token", "x")
    told = [(change["type"], change["object"]["name"]) for change in map(json.loads, done.out.splitlines())]
    assert told == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c"), ("DELETED", "a")]
    assert done.code == 1
    assert done.complaint[0] == "mooring: unreachable: the stream of changes ended"


@pytest.mark.slow
def test_a_watch_whose_server_stops_fails_with_a_message():
    with running_up("--no-demo") as up, watching(up, "nodes") as watch:
        watch.first(lambda change: True)
        up.interrupt()
        _, err = watch.process.communicate(timeout=20)
        assert watch.process.returncode == 1
        assert err.startswith("mooring: unreachable: ")
        assert len(err.splitlines()) == 3, "what happened, the runbook's page, the fix"

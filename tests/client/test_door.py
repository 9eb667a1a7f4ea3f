"""The door of a worker that is spoken to directly, in a real process with a real signal."""

import json
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

from mooring.client.door import Closed, Door

WORKER = """
import sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mooring.client.door import Closed, Door

door = Door()
door.close_on_sigterm()

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            if self.path == "/healthz":
                return self.answer(200, door.describe())
            with door.session():
                print("in", flush=True)
                time.sleep(1.0)
                self.answer(200, "done")
        except Closed as closed:
            self.answer(410, str(closed))

    def answer(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
door.wait_empty()
server.shutdown()
print("out", flush=True)
"""


def ask(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_after_sigterm_the_session_ends_well_new_ones_are_refused_and_the_process_exits_with_0():
    worker = subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    try:
        port = int(worker.stdout.readline())
        answers: list[tuple[int, str]] = []
        session = threading.Thread(target=lambda: answers.append(ask(port, "/work")))
        session.start()
        assert worker.stdout.readline() == "in\n"
        worker.send_signal(signal.SIGTERM)
        while not json.loads((word := ask(port, "/healthz"))[1])["draining"]:
            pass
        assert word[0] == 200 and json.loads(word[1]) == {"executing": True, "sessions": 1, "draining": True}
        assert ask(port, "/work")[0] == 410
        session.join()
        assert answers == [(200, "done")]
        assert worker.stdout.read() == "out\n"
        assert worker.wait(timeout=10) == 0
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()


def test_an_empty_door_that_closes_lets_nobody_in():
    door = Door()
    assert not door.wait_empty(timeout_seconds=0.01)
    door.close()
    assert door.wait_empty(timeout_seconds=0.01)
    with pytest.raises(Closed), door.session():
        pass


def test_a_session_that_fails_leaves_too():
    door = Door()
    with pytest.raises(ValueError), door.session():
        raise ValueError
    assert json.loads(door.describe())["sessions"] == 0

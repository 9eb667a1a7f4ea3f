"""Draining a worker that clients connect to, in a real process with a real signal."""

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from mooring.client.session_gate import Draining, SessionGate

WORKER = """
import sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mooring.client.session_gate import Draining, SessionGate

gate = SessionGate()
gate.close_on_sigterm()

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            if self.path == "/healthz":
                return self.answer(200, gate.describe())
            with gate.session():
                print("in", flush=True)
                time.sleep(1.0)
                self.answer(200, "done")
        except Draining as draining:
            self.answer(410, str(draining))

    def answer(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
gate.wait_drained()
server.shutdown()
print("out", flush=True)
"""


def ask(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.realtime
def test_after_sigterm_the_session_ends_new_ones_are_refused_and_the_process_exits_with_0():
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
            time.sleep(0.01)
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


CLOSED_ANYWHERE = """
import sys, threading
from mooring.client.session_gate import SessionGate

def close_at(place):
    gate, passed = SessionGate(), 0

    def trace(frame, event, argument):
        nonlocal passed
        passed += 1
        if passed == place:
            gate.close()
        return trace

    late = threading.Timer(0.1, gate.close)
    late.start()
    sys.settrace(trace)
    drained = gate.wait_drained()
    sys.settrace(None)
    late.join()
    assert drained, place
    return passed >= place

place = 1
while close_at(place):
    place += 1
print(place)
"""


def test_a_signal_may_close_the_gate_at_any_line_of_the_thread_that_waits():
    done = subprocess.run([sys.executable, "-c", CLOSED_ANYWHERE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and int(done.stdout) > 5, done.stderr


def test_a_closed_gate_admits_no_session_and_is_drained_at_once():
    gate = SessionGate()
    assert not gate.wait_drained(timeout_seconds=0.01)
    gate.close()
    assert gate.wait_drained(timeout_seconds=0.01)
    with pytest.raises(Draining), gate.session():
        pass


def test_a_session_that_fails_is_no_longer_counted():
    gate = SessionGate()
    with pytest.raises(ValueError), gate.session():
        raise ValueError
    assert json.loads(gate.describe())["sessions"] == 0

"""A worker stops a server that its hub wants no more, and no other."""

import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hawser.clock import LoopClock, SystemClock
from mooring_jupyterhub.hub_watch import SILENCE_SECONDS, Answer, HubWatch, classify_answer

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def watch():
    return lambda seconds=SILENCE_SECONDS: HubWatch("http://hub.invalid/hub/api", "token", seconds, LoopClock(START))


async def test_one_refusal_is_not_enough_and_an_accepted_token_clears_it(watch):
    seen = watch()
    assert seen.reason(Answer.REFUSED) == ""
    assert seen.reason(Answer.KNOWN) == ""
    assert seen.reason(Answer.REFUSED) == ""
    assert seen.reason(Answer.REFUSED) == "the hub has revoked its token"


async def test_no_answer_does_not_count_as_a_refusal_and_ends_the_server_only_after_the_silence(watch):
    clock, seen = LoopClock(START), watch(3600.0)
    assert seen.reason(Answer.REFUSED) == ""
    for _ in range(59):
        await clock.sleep(60)
        assert seen.reason(Answer.UNKNOWN) == ""
    await clock.sleep(60)
    assert seen.reason(Answer.UNKNOWN) == "the hub has not answered for 3600 s"


async def test_an_answer_starts_the_silence_anew(watch):
    clock, seen = LoopClock(START), watch(3600.0)
    await clock.sleep(3599)
    assert seen.reason(Answer.KNOWN) == ""
    await clock.sleep(3599)
    assert seen.reason(Answer.UNKNOWN) == ""


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, Answer.KNOWN),
        (401, Answer.REFUSED),
        (403, Answer.REFUSED),
        (404, Answer.UNKNOWN),
        (429, Answer.UNKNOWN),
        (503, Answer.UNKNOWN),
    ],
)
def test_only_a_refused_token_counts_against_a_server(status, answer):
    assert classify_answer(status) is answer


def test_a_payload_without_a_sensible_silence_gets_the_default():
    for given in ({}, {"hubSilenceSeconds": "soon"}, {"hubSilenceSeconds": -1}):
        assert HubWatch.of(given, {}, SystemClock())._silence_seconds == SILENCE_SECONDS


def test_the_token_is_asked_for_at_the_hub_of_the_server():
    asked = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers["Authorization"]))
            self.send_response(403)
            self.end_headers()

        def log_message(self, *_):
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/hub/api"
    watch = HubWatch.of({}, {"JUPYTERHUB_API_URL": url, "JUPYTERHUB_API_TOKEN": "sesame"}, SystemClock())
    assert watch._ask() is Answer.REFUSED
    server.shutdown()
    server.server_close()
    assert asked == [("/hub/api/user", "token sesame")]
    assert watch._ask() is Answer.UNKNOWN

"""What the SDK, the terminal and the worker agent say about a certificate that they do not accept."""

import asyncio
import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hawser.clock import Entropy, SystemClock
from mooring.client.asyncio_runtime import AsyncioRuntime
from mooring.client.blocking_runtime import BlockingRuntime, complete
from mooring.client.connection import Endpoint, find_endpoint
from mooring.client.errors import Untrusted
from mooring.client.retry import Retry
from mooring.client.worker import AgentOptions, WorkerAgent, read_options
from mooring.model.errors import InvalidInput, Misconfigured
from packages.mooring.tests.certificates import Issued, TestAuthority

pytestmark = pytest.mark.realtime
AUTHORITY, ANOTHER = TestAuthority(), TestAuthority("another-ca")
Serve = Callable[[Issued | None], str]


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"items": []}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Not on the terminal."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Refused handshakes are what these tests are about."""


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """A server with this certificate, or without TLS; answers its URL."""
    servers = []

    def start(issued: Issued | None) -> str:
        server = _Server(("127.0.0.1", 0), _Answers)
        if issued is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*issued.write(tmp_path / f"pair-{len(servers)}"))
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"https://localhost:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def ask(kind: str, url: str, ca: bytes | str) -> object:
    endpoint = Endpoint(url, "secret", ca.decode() if isinstance(ca, bytes) else ca)
    if kind == "blocking":
        return complete(BlockingRuntime(endpoint).request("GET", "/v1/pools"))
    return asyncio.run(AsyncioRuntime(endpoint).request("GET", "/v1/pools"))


KINDS = pytest.mark.parametrize("kind", ["blocking", "asyncio"])


@KINDS
def test_the_ca_is_given_as_a_file_or_as_its_content(serve: Serve, tmp_path: Path, kind: str) -> None:
    url, file = serve(AUTHORITY.issue()), tmp_path / "ca.crt"
    file.write_bytes(ANOTHER.pem + AUTHORITY.pem)
    assert ask(kind, url, AUTHORITY.pem) == {"items": []}
    assert ask(kind, url, str(file)) == {"items": []}


@KINDS
@pytest.mark.parametrize(
    ("issued", "said", "fix"),
    [
        (ANOTHER.issue(), "from an unknown issuer", "MOORING_CA"),
        (AUTHORITY.issue(days=-2), "has expired", "renew it"),
        (AUTHORITY.issue("mooring.example.com"), "is for another name", "a name that is in the certificate"),
        (None, "does not speak TLS", "is it http://localhost"),
    ],
    ids=["unknown issuer", "expired", "wrong name", "plain"],
)
def test_the_error_names_the_cause_and_the_fix(
    serve: Serve, kind: str, issued: Issued | None, said: str, fix: str
) -> None:
    with pytest.raises(Untrusted, match=said) as refused:
        ask(kind, serve(issued), AUTHORITY.pem)
    assert fix in refused.value.fix


def test_a_replaced_ca_file_is_used_by_the_next_request(serve: Serve, tmp_path: Path) -> None:
    url, file = serve(AUTHORITY.issue()), tmp_path / "ca.crt"
    file.write_bytes(ANOTHER.pem)
    with pytest.raises(Untrusted):
        ask("blocking", url, str(file))
    file.write_bytes(AUTHORITY.pem)
    assert ask("blocking", url, str(file)) == {"items": []}


def test_a_certificate_that_is_refused_is_not_asked_again() -> None:
    error = Untrusted("the certificate has expired")
    with pytest.raises(Untrusted):
        complete(Retry(BlockingRuntime(Endpoint("https://localhost:1", ""))).pause(error))


def test_a_ca_that_cannot_be_read_is_named_before_any_request(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="no-such-file"):
        find_endpoint("https://mooring", "t", ca=tmp_path / "no-such-file")
    (tmp_path / "empty").write_text("nothing")
    with pytest.raises(InvalidInput, match="CA certificates in PEM"):
        find_endpoint("https://mooring", "t", ca=tmp_path / "empty")


def test_the_variable_is_used_where_no_argument_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOORING_CA", AUTHORITY.pem.decode())
    assert find_endpoint("https://mooring", "t").ca == AUTHORITY.pem.decode()


async def test_the_agent_of_a_worker_knows_mooring_by_the_ca_in_its_environment(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    environment = {
        "MOORING_URL": serve(AUTHORITY.issue()),
        "MOORING_CA": AUTHORITY.pem.decode(),
        "MOORING_TOKEN_FILE": str(tmp_path / "token"),
    }
    options, _, _ = read_options([], lambda name, default: environment.get(name, default))
    assert options.ca == AUTHORITY.pem.decode()
    agent = WorkerAgent(options, SystemClock(), Entropy())
    assert await agent._post("/v1/dispatch/heartbeat", {}, 5) == {"items": []}
    strange = WorkerAgent(AgentOptions(options.url, options.token_file), SystemClock(), Entropy())
    with pytest.raises(Untrusted, match="unknown issuer"):
        await strange._post("/v1/dispatch/heartbeat", {}, 5)

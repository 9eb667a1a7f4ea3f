"""Which servers are believed, and how we show who we are."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from hawser.errors import ConnectionFailed, Misconfigured
from hawser.http import HttpTransport
from hawser.tls import ClientCertificate, Trust, client_context
from hawser.transport import Request
from packages.hawser.tests.certificates import Authority
from packages.hawser.tests.servers import client_name, echo, server_tls, serving

AUTHORITY = Authority.make()


SERVER = AUTHORITY.issue("server", hosts=("127.0.0.1",))


TRUST = Trust(authority=AUTHORITY.pem)


@pytest.mark.realtime
async def test_a_server_of_a_trusted_authority_is_believed(tmp_path: Path) -> None:
    async with serving(echo, tls=server_tls(tmp_path, SERVER)) as address:
        transport = HttpTransport(address, trust=TRUST)
        assert (await transport.send(Request("GET", "/x"))).status == 200
        await transport.close()


@pytest.mark.realtime
@pytest.mark.parametrize(
    "trust",
    [
        Trust(),
        Trust(authority=Authority.make("another authority").pem),
        Trust(authority=AUTHORITY.pem, server_name="another.example.com"),
    ],
)
async def test_a_server_that_cannot_be_trusted_is_not_spoken_to(tmp_path: Path, trust: Trust) -> None:
    async with serving(echo, tls=server_tls(tmp_path, SERVER)) as address:
        transport = HttpTransport(address, trust=trust)
        with pytest.raises(ConnectionFailed, match="certificate") as caught:
            await transport.send(Request("GET", "/x"))
        assert "certificate authority" in caught.value.fix
        await transport.close()


@pytest.mark.realtime
async def test_the_name_to_expect_can_be_given(tmp_path: Path) -> None:
    certificate = AUTHORITY.issue("server", hosts=("kubernetes.default",))

    async with serving(echo, tls=server_tls(tmp_path, certificate)) as address:
        transport = HttpTransport(address, trust=Trust(AUTHORITY.pem, server_name="kubernetes.default"))
        assert (await transport.send(Request("GET", "/x"))).status == 200
        await transport.close()


@pytest.mark.realtime
async def test_trust_can_be_waived(tmp_path: Path) -> None:
    async with serving(echo, tls=server_tls(tmp_path, SERVER)) as address:
        transport = HttpTransport(address, trust=Trust(verify=False))
        assert (await transport.send(Request("GET", "/x"))).status == 200
        await transport.close()


async def who(request: web.Request) -> web.StreamResponse:
    if "watch" not in request.query:
        return web.Response(text=client_name(request))
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(3):
        await response.write(client_name(request).encode() + b"\n")
        await asyncio.sleep(0.05)
    return response


@pytest.mark.realtime
async def test_a_new_client_certificate_is_shown_while_open_watches_go_on(tmp_path: Path) -> None:
    shown: list[ClientCertificate] = [AUTHORITY.issue("alice")]

    tls = server_tls(tmp_path, SERVER, clients_of=AUTHORITY.pem)
    async with serving(who, tls=tls) as address:
        transport = HttpTransport(address, trust=TRUST, certificate=lambda: shown[-1])
        assert await (await transport.send(Request("GET", "/x"))).read() == b"alice"
        watch = await transport.send(Request("GET", "/x", (("watch", "1"),)))
        short_watch = await transport.send(Request("GET", "/x", (("watch", "1"),)))
        shown.append(AUTHORITY.issue("bob"))
        assert await (await transport.send(Request("GET", "/x"))).read() == b"bob"
        await short_watch.close()
        assert b"".join([chunk async for chunk in watch]) == b"alice\n" * 3
        await watch.close()
        assert await (await transport.send(Request("GET", "/x"))).read() == b"bob"
        await transport.close()


@pytest.mark.parametrize(
    ("trust", "certificate"),
    [
        (Trust(authority=b"no pem"), None),
        (Trust(authority=b"\xff"), None),
        (TRUST, ClientCertificate(b"no pem", b"no pem")),
        (TRUST, ClientCertificate(SERVER.chain, AUTHORITY.issue("x").key)),
    ],
)
def test_what_is_no_certificate_is_a_misconfiguration(trust: Trust, certificate: ClientCertificate | None) -> None:
    with pytest.raises(Misconfigured) as caught:
        client_context(trust, certificate)
    assert "PEM" in caught.value.fix

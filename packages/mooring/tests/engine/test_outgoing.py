"""Connections to hosts that users name: judged by the address that is connected to."""

import socket

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from mooring.engine.metrics import OUTGOING_REFUSED
from mooring.engine.outgoing import DestinationRefused, GuardedResolver, check_url, find_refusal, open_session
from mooring.planning.destinations import THIS_MACHINE, OutgoingPolicy, parse_policy

CLUSTER = OutgoingPolicy()


class Names(AbstractResolver):
    """Resolves every name to these addresses, one list after the other; the last one stays."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        addresses = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            ResolveResult(hostname=host, host=one, port=port, family=socket.AF_INET, proto=0, flags=0)
            for one in addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""


async def test_only_addresses_that_may_be_reached_are_connected_to() -> None:
    found = await GuardedResolver(CLUSTER, Names(["169.254.169.254", "10.0.0.7"])).resolve("mint.example.com", 80)
    assert [one["host"] for one in found] == ["10.0.0.7"]


async def test_a_name_that_leads_to_a_metadata_service_is_refused() -> None:
    with pytest.raises(DestinationRefused, match="metadata service"):
        await GuardedResolver(CLUSTER, Names(["169.254.169.254"])).resolve("mint.example.com", 80)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/", "http://127.0.0.1:1/",
        "http://metadata.google.internal/", "http://0.0.0.0/", "http:///nothing",
    ],
)  # fmt: skip
def test_addresses_in_a_url_are_judged_without_a_resolver(url: str) -> None:
    with pytest.raises(DestinationRefused):
        check_url(url, CLUSTER)


def test_a_url_within_the_cluster_is_fine() -> None:
    check_url("http://mint.runners.svc:8080/credentials", CLUSTER)
    check_url("https://10.0.0.7/", CLUSTER)
    with pytest.raises(DestinationRefused, match="MOORING_OUTGOING_ALLOW"):
        check_url("https://10.0.0.7/", parse_policy("10.1.0.0/16", loopback=False))


@pytest.mark.realtime
@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1"])
async def test_no_spelling_of_this_machine_is_connected_to(host: str) -> None:
    reached: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        reached.append(request.path)
        return web.Response()

    app = web.Application()
    app.router.add_post("/", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://{host}:{runner.addresses[0][1]}/"
    try:
        async with open_session(CLUSTER) as session:
            with pytest.raises((DestinationRefused, aiohttp.ClientError, ValueError)):
                check_url(url, CLUSTER)
                await session.post(url)
        async with open_session(THIS_MACHINE) as session:
            await session.post(f"http://localhost:{runner.addresses[0][1]}/")
    finally:
        await runner.cleanup()
    assert reached == ["/"], "only the call that may go there"


async def test_a_name_that_changes_its_address_between_two_looks_gains_nothing() -> None:
    resolver = GuardedResolver(CLUSTER, Names(["10.0.0.7"], ["127.0.0.1"]))
    await resolver.resolve("rebinding.example.com", 80)
    with pytest.raises(DestinationRefused, match="this machine itself"):
        await resolver.resolve("rebinding.example.com", 80)


class NoNames(Names):
    """Resolves nothing."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        raise OSError(-2, "Name or service not known")


@pytest.mark.parametrize(
    ("url", "addresses", "policy", "why"),
    [
        ("https://mint.example.com/", ["10.0.0.7"], CLUSTER, ""),
        ("https://mint.example.com/", ["169.254.169.254", "10.0.0.7"], CLUSTER, ""),
        ("https://mint.example.com/", ["169.254.169.254"], CLUSTER, "169.254.169.254 is link-local or a metadata"),
        ("http://169.254.169.254/latest", [], CLUSTER, "169.254.169.254 is link-local or a metadata"),
        ("http://metadata.google.internal/", [], CLUSTER, "metadata.google.internal is a metadata service"),
        (
            "https://mint.example.com/",
            ["10.0.0.7"],
            parse_policy("mint.other.com", loopback=False),
            "is not in MOORING",
        ),
        ("https://mint.example.com/", ["10.0.0.7"], parse_policy("10.1.0.0/16", loopback=False), "is not in MOORING"),
        ("https://mint.example.com/", ["10.1.0.7"], parse_policy("10.1.0.0/16", loopback=False), ""),
        ("https://[", [], CLUSTER, "the URL is not valid"),
    ],
)
async def test_a_destination_can_be_judged_without_a_call(
    url: str, addresses: list[str], policy: OutgoingPolicy, why: str
) -> None:
    before = OUTGOING_REFUSED._value.get()
    found = await find_refusal(url, policy, Names(addresses))
    assert (why in found) if why else (found == "")
    assert OUTGOING_REFUSED._value.get() == before, "no call was refused"


async def test_a_name_that_cannot_be_resolved_would_not_be_called() -> None:
    found = await find_refusal("https://mint.example.com/", CLUSTER, NoNames())
    assert found == "mint.example.com cannot be resolved: Name or service not known"

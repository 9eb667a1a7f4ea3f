"""Who counts as being on this machine, where pages are open."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from litestar.datastructures import Headers

from mooring.api.access.origin import comes_from_this_machine


def connection(client: str | None, host: str) -> Any:
    peer = None if client is None else SimpleNamespace(host=client, port=50000)
    return cast(Any, SimpleNamespace(client=peer, headers=Headers({"host": host})))


@pytest.mark.parametrize(
    ("client", "host", "expected"),
    [
        ("127.0.0.1", "127.0.0.1:8080", True),
        ("127.64.0.7", "localhost:8080", True),
        ("::1", "[::1]:8080", True),
        (None, "localhost", True),
        ("127.0.0.1", "mooring.example.com", False),
        ("10.1.0.9", "127.0.0.1:8080", False),
        ("fe80::1%eth0", "localhost", False),
    ],
)
def test_the_client_and_the_host_header_must_both_be_of_this_machine(client: str | None, host: str, expected: bool):
    assert comes_from_this_machine(connection(client, host)) is expected

"""How the ledger is reached: read from its URL as the driver does, and from the connection itself."""

from pathlib import Path

import pytest

from mooring.ledger.postgres.link import read_link, require_files
from mooring.model.errors import Misconfigured
from packages.mooring.tests.ledger.worlds import World


@pytest.mark.parametrize(
    ("url", "environment", "hosts", "sslmode"),
    [
        ("postgresql://u:p@db.example.com:6432/mooring?sslmode=verify-full", {}, ("db.example.com",), "verify-full"),
        ("postgresql://u@a:1,b:2,[::1]:3/mooring", {}, ("a", "b", "::1"), "prefer"),
        ("postgresql:///mooring?host=/run/pg", {}, ("/run/pg",), "prefer"),
        ("postgresql://%2Frun%2Fpg/mooring", {}, ("/run/pg",), "prefer"),
        ("postgresql:///mooring", {}, (), "prefer"),
        ("postgresql:///mooring", {"PGHOST": "db", "PGSSLMODE": "require"}, ("db",), "require"),
    ],
)
def test_hosts_and_mode_are_those_that_the_driver_uses(
    url: str, environment: dict[str, str], hosts: tuple[str, ...], sslmode: str
) -> None:
    link = read_link(url, encrypted=False, environment=environment)
    assert (link.hosts, link.sslmode) == (hosts, sslmode)


@pytest.mark.parametrize("name", ["sslrootcert", "sslcert", "sslkey"])
def test_a_file_for_tls_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    there, missing = tmp_path / "there.pem", tmp_path / "missing.pem"
    there.write_text("")
    require_files(f"postgresql://u@db/mooring?{name}={there}", {})
    with pytest.raises(Misconfigured, match=f"{name}={missing}"):
        require_files(f"postgresql://u@db/mooring?{name}={missing}", {})
    with pytest.raises(Misconfigured, match=f"{name}={missing}"):
        require_files("postgresql://u@db/mooring", {f"PG{name.upper()}": str(missing)})


async def test_a_ledger_on_this_machine_says_that_it_is(world: World) -> None:
    link = await (await world.open()).meta.link()
    assert not link.encrypted
    assert all(host.startswith("/") or host in ("127.0.0.1", "localhost") for host in link.hosts)


@pytest.mark.parametrize(
    ("mode", "said", "encrypted"),
    [
        ("verify-full", False, True),
        ("verify-ca", False, True),
        ("require", False, True),
        ("prefer", False, False),
        ("prefer", True, True),
        ("disable", False, False),
    ],
)
def test_a_mode_that_enforces_tls_counts_more_than_what_a_server_behind_a_proxy_sees(
    mode: str, said: bool, encrypted: bool
) -> None:
    link = read_link(f"postgresql://db.example.com/mooring?sslmode={mode}", encrypted=said, environment={})
    assert link.encrypted is encrypted

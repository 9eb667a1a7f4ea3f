"""Where Mooring connects to, by tables."""

import pytest

from mooring.model.errors import InvalidInput
from mooring.planning.destinations import (
    OutgoingPolicy,
    choose_fix,
    parse_policy,
    refuse_address,
    refuse_destination,
    refuse_host,
)

CLUSTER = OutgoingPolicy()


@pytest.mark.parametrize("address", ["10.0.3.7", "172.20.0.1", "93.184.216.34", "fd00::7", "2001:db8::1", "100.64.1.1"])
def test_pods_services_and_other_machines_are_reached(address: str) -> None:
    assert refuse_destination("mint.example.com", address, CLUSTER) == ""


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.170.2", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
        "fe80::1", "fe80::1%eth0", "168.63.129.16", "100.100.100.200", "fd00:ec2::254",
        "fd00:ec2::254%1", "fd00:ec2::23", "fd20:ce::254", "192.0.0.192", "64:ff9b:1::a9fe:a9fe", "::169.254.169.254",
        "127.0.0.1", "127.64.0.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
        "0.0.0.0", "::", "224.0.0.1", "ff02::1", "240.0.0.1", "255.255.255.255", "", "localhost", "10.0.0.1@evil",
    ],
)  # fmt: skip
def test_metadata_services_this_machine_and_what_is_no_machine_are_never_reached(address: str) -> None:
    assert refuse_address(address, loopback=False)


def test_loopback_is_reached_where_pods_are_processes_of_this_machine() -> None:
    assert refuse_address("127.64.0.9", loopback=True) == ""
    assert refuse_address("169.254.169.254", loopback=True)


@pytest.mark.parametrize("host", ["metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data"])
def test_names_of_metadata_services_are_refused_before_they_are_resolved(host: str) -> None:
    assert refuse_host(host, CLUSTER)


@pytest.mark.parametrize(
    ("why", "setting"),
    [
        (refuse_destination("mint.example.com", "10.1.2.3", parse_policy("10.20.0.0/16", False)), "OUTGOING_ALLOW"),
        (refuse_host("other.example.com", parse_policy("mint.example.com", False)), "OUTGOING_ALLOW"),
        (refuse_address("127.0.0.1", loopback=False), "OUTGOING_LOOPBACK"),
        (refuse_address("169.254.169.254", loopback=False), ""),
        (refuse_host("metadata.google.internal", CLUSTER), ""),
        ("mint.example.com cannot be resolved: Name or service not known", ""),
    ],
)
def test_a_fix_names_only_a_setting_that_opens_the_destination(why: str, setting: str) -> None:
    fix = choose_fix(why)
    assert fix.startswith("correct the URL")
    assert ("MOORING_" in fix) == bool(setting) and setting in fix


ALLOW = "mint.example.com, .svc.cluster.local, 10.20.0.0/16, 192.0.2.7"


@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("mint.example.com", "93.184.216.34", True),
        ("MINT.example.com.", "93.184.216.34", True),
        ("evil-mint.example.com", "93.184.216.34", False),
        ("mint.example.com.evil.org", "93.184.216.34", False),
        ("mint.runners.svc.cluster.local", "172.20.3.3", True),
        ("svc.cluster.local", "172.20.3.3", False),
        ("another.example.com", "10.20.9.9", True),
        ("another.example.com", "10.21.9.9", False),
        ("192.0.2.7", "192.0.2.7", True),
        ("mint.example.com", "169.254.169.254", False),
        ("mint.example.com", "127.0.0.1", False),
    ],
)
def test_a_list_of_destinations_restricts_names_and_networks(host: str, address: str, allowed: bool) -> None:
    policy = parse_policy(ALLOW, loopback=False)
    why = refuse_host(host, policy) or refuse_destination(host, address, policy)
    assert (why == "") is allowed


def test_a_list_of_names_alone_refuses_others_before_they_are_resolved() -> None:
    assert "MOORING_OUTGOING_ALLOW" in refuse_host("other.example.com", parse_policy("mint.example.com", False))


@pytest.mark.parametrize("entry", ["http://mint.example.com", "10.0.0.1/8", "mint:8080", "."])
def test_an_entry_that_means_nothing_is_refused_at_the_start(entry: str) -> None:
    with pytest.raises(InvalidInput, match="MOORING_OUTGOING_ALLOW"):
        parse_policy(f"mint.example.com,{entry}", loopback=False)

"""The doctor's judgement of HTTPS and of the connection to the ledger."""

from datetime import timedelta

import pytest

from mooring.model.certificate import CertificateState
from mooring.planning.transport import judge_certificate, judge_encryption
from packages.mooring.tests.planning.fleets import NOW


@pytest.mark.parametrize(
    ("days", "problem", "status", "said"),
    [
        (60, "", "ok", "for another 60 days"),
        (13, "", "warn", "expires in 13 day(s)"),
        (-1, "", "fail", "expired at"),
        (60, "the key does not belong to the certificate", "warn", "does not belong"),
        (-1, "the key does not belong to the certificate", "fail", "expired at"),
    ],
)
def test_a_certificate_is_judged_by_its_end_and_by_newer_files_that_are_broken(
    days: int, problem: str, status: str, said: str
) -> None:
    state = CertificateState("/tls/tls.crt", NOW + timedelta(days=days), problem)
    check = judge_certificate(state, "https://0.0.0.0:8080", NOW)
    assert (check.id, check.status) == ("certificate", status)
    assert said in check.message
    assert bool(check.fix) == (status != "ok")


@pytest.mark.parametrize(
    ("address", "status"), [("http://127.0.0.1:8080", "ok"), ("", "ok"), ("http://0.0.0.0:8080", "warn")]
)
def test_plain_http_is_fine_on_this_machine_only(address: str, status: str) -> None:
    assert judge_certificate(None, address, NOW).status == status


@pytest.mark.parametrize(
    ("hosts", "sslmode", "encrypted", "status", "said"),
    [
        ((), "prefer", False, "ok", "on this machine"),
        (("/run/postgresql",), "prefer", False, "ok", "on this machine"),
        (("127.0.0.1", "localhost", "::1"), "disable", False, "ok", "on this machine"),
        (("db.example.com",), "verify-full", True, "ok", "verified"),
        (("db.example.com",), "require", True, "warn", "encrypted, and the server is not verified (sslmode=require)"),
        (("db.example.com",), "prefer", False, "warn", "not encrypted"),
        (("127.0.0.1", "10.0.0.2"), "verify-ca", True, "warn", "the connection to 10.0.0.2"),
    ],
)
def test_the_ledger_on_another_machine_is_reached_encrypted_and_verified_or_the_doctor_warns(
    hosts: tuple[str, ...], sslmode: str, encrypted: bool, status: str, said: str
) -> None:
    check = judge_encryption(hosts, sslmode, encrypted)
    assert (check.id, check.status) == ("ledger/encryption", status)
    assert said in check.message
    assert ("sslmode=verify-full" in check.fix) == (status == "warn")

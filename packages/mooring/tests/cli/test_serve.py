"""`mooring serve` before it starts anything: what it refuses, and the fix it names."""

from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import run_command
from packages.mooring.tests.certificates import TestAuthority

pytestmark = pytest.mark.realtime

DATABASE = "postgresql://127.0.0.1:1/none"


@pytest.mark.parametrize(
    ("environment", "said", "fix"),
    [
        ({}, "plain HTTP would be served on 0.0.0.0", "MOORING_PLAIN_HTTP=true"),
        ({"MOORING_TLS_CERTIFICATE": "tls.crt"}, "MOORING_TLS_KEY is not set", "set both, or none"),
        ({"MOORING_TLS_KEY": "tls.key"}, "MOORING_TLS_CERTIFICATE is not set", "set both, or none"),
        (
            {"MOORING_TLS_CERTIFICATE": "no.crt", "MOORING_TLS_KEY": "no.key"},
            "no.crt: No such file or directory",
            "give a certificate and its key",
        ),
        ({"MOORING_PLAIN_HTTP": "true", "MOORING_WORKER_CA": "no.crt"}, "no.crt", "MOORING_WORKER_CA"),
    ],
    ids=["plain", "no key", "no certificate", "no files", "no CA"],
)
def test_what_cannot_be_served_safely_is_refused_with_the_fix(
    tmp_path: Path, environment: dict[str, str], said: str, fix: str
):
    given = {"MOORING_DATABASE": DATABASE, "MOORING_HOST": "0.0.0.0", "MOORING_STATE": str(tmp_path), **environment}
    ended = run_command("serve", **given)
    assert ended.code == 1
    assert said in ended.err and fix in ended.err
    assert "Traceback" not in ended.err


def test_with_a_certificate_it_goes_on_to_the_database(tmp_path: Path):
    certificate, key = TestAuthority().issue().write(tmp_path)
    given = {"MOORING_HOST": "0.0.0.0", "MOORING_PORT": "0", "MOORING_STATE": str(tmp_path)}
    pair = {"MOORING_TLS_CERTIFICATE": str(certificate), "MOORING_TLS_KEY": str(key)}
    ended = run_command("serve", MOORING_DATABASE=DATABASE, **given, **pair)
    assert ended.code == 1 and "the database none at 127.0.0.1:1" in ended.err

"""The authority of a control plane: what it signs is good, kept, and renewed in time."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from drydock.certificates import Authority, write_private

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_a_serving_certificate_is_signed_for_its_hosts(tmp_path: Path) -> None:
    authority = Authority(tmp_path, NOW)
    certificate = load(authority.serving("api", ["localhost", "127.0.0.1"]).certificate)
    certificate.verify_directly_issued_by(load(authority.pair.certificate))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_client_certificate_names_its_user_and_groups(tmp_path: Path) -> None:
    pair = Authority(tmp_path, NOW).client("someone", "alice", ["system:masters"])
    assert load(pair.certificate).subject.rfc4514_string() == "CN=alice,O=system:masters"


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    authority = Authority(tmp_path, NOW)
    pair, signing = authority.serving("api", ["localhost"]), authority.signing_key("accounts")
    for path in (authority.pair.key, pair.key, signing.key):
        assert path.stat().st_mode & 0o777 == 0o600


def test_everything_is_found_again_and_renewed_before_it_ends(tmp_path: Path) -> None:
    def made(now: datetime) -> tuple[bytes, bytes, bytes]:
        authority = Authority(tmp_path, now)
        served = authority.serving("api", ["localhost"]).certificate.read_bytes()
        return authority.pair.certificate.read_bytes(), served, authority.signing_key("accounts").key.read_bytes()

    first, again, later = made(NOW), made(NOW + timedelta(days=300)), made(NOW + timedelta(days=340))
    assert first == again
    assert later[0] != first[0]
    assert later[1] != first[1]
    assert later[2] == first[2], "tokens that were handed out stay good"


def test_a_strict_verifier_accepts_the_chain(tmp_path: Path) -> None:
    authority = Authority(tmp_path, datetime.now(UTC))
    pair = authority.serving("api", ["localhost"])
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(pair.certificate, pair.key)
    client = ssl.create_default_context(cafile=str(authority.pair.certificate))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert ends[0].cipher() is not None


def test_a_private_file_replaces_the_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_private(path, b"one")
    write_private(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret"]

"""Decisions about services, by tables: whose address may be asked, what a registry meant, what a state asks for."""

import pytest

from mooring.planning.services.addresses import refuse_foreign
from mooring.planning.services.registries import PullProblem, classify_pull, split_image


@pytest.mark.parametrize("address", ["10.0.3.7", "192.168.4.4", "127.64.0.9", "127.64.255.9", "fd00::7", "100.64.1.1"])
def test_the_pod_s_own_address_may_be_asked(address: str):
    assert refuse_foreign(address, {address}, loopback=True) == ""


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1",
        "127.0.0.1",
        "127.63.0.1",
        "127.65.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "metadata.google.internal",
        "10.0.0.1@evil",
        "",
    ],
)
def test_what_is_no_pod_is_not_asked_even_when_a_status_says_so(address: str):
    assert refuse_foreign(address, {address}, loopback=True)


def test_in_a_cluster_of_other_machines_no_loopback_address_is_a_pod():
    assert refuse_foreign("127.64.0.9", {"127.64.0.9"}, loopback=False)


def test_the_address_of_somebody_else_is_not_asked():
    assert "not an address of this service" in refuse_foreign("10.0.3.8", {"10.0.3.7"}, loopback=True)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized", "ImageUnauthorized"),
        ("pull access denied, repository does not exist or may require authorization", "ImageUnauthorized"),
        ("unexpected status code https://r/v2/x/manifests/1: 403 Forbidden", "ImageUnauthorized"),
        ("no basic auth credentials", "ImageUnauthorized"),
        ('failed to resolve reference "r.io/x:9": r.io/x:9: not found', "ImageNotFound"),
        ("manifest unknown: manifest tagged by 9 is not found", "ImageNotFound"),
        ("dial tcp: lookup r.io: no such host", "RegistryUnreachable"),
        ("dial tcp 10.0.0.1:443: i/o timeout", "RegistryUnreachable"),
        ("net/http: TLS handshake timeout", "RegistryUnreachable"),
        ("context deadline exceeded", "RegistryUnreachable"),
        ("unexpected status: 503 Service Unavailable", "RegistryUnreachable"),
        ("InvalidImageName Failed to apply default image tag: couldn't parse image name", "ImageNameInvalid"),
        ("no space left on device", "ImagePullFailed"),
    ],
)
def test_failed_pulls_are_told_apart(message: str, problem: str):
    assert classify_pull(message) is PullProblem(problem)


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("nginx", ("docker.io", "nginx", "")),
        ("library/nginx:1", ("docker.io", "library/nginx", "1")),
        ("localhost:5000/a/b", ("localhost:5000", "a/b", "")),
        ("r.io/a/b:7", ("r.io", "a/b", "7")),
        ("r.io/a@sha256:ff", ("r.io", "a", "sha256:ff")),
    ],
)
def test_an_image_s_name_is_read_as_runtimes_read_it(image: str, parts: tuple[str, str, str]):
    name = split_image(image)
    assert (name.registry, name.repository, name.tag) == parts

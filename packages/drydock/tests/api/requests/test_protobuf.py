import pytest
from hypothesis import given
from hypothesis import strategies as st

from drydock.api.answers.status import Refusal
from drydock.api.requests.protobuf import MAGIC, decode_protobuf
from packages.drydock.tests.api.caller import CONFIGMAPS, PODS, caller

PROTOBUF = "application/vnd.kubernetes.protobuf"


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def block(field: int, *parts: bytes | str) -> bytes:
    body = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def envelope(api_version: str, kind: str, *parts: bytes) -> bytes:
    return MAGIC + block(1, block(1, api_version), block(2, kind)) + block(2, *parts)


def metadata(name: str) -> bytes:
    return block(1, block(1, name), block(3, ""), block(11, block(1, "app"), block(2, "web")))


def test_strings_maps_and_bytes_are_read_and_what_is_empty_is_left_out() -> None:
    body = envelope(
        "v1",
        "ConfigMap",
        metadata("a"),
        block(2, block(1, "k"), block(2, "v")),
        block(3, block(1, "b"), block(2, b"\x00\xff")),
    )
    assert decode_protobuf(body) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"app": "web"}},
        "data": {"k": "v"},
        "binaryData": {"b": "AP8="},
    }


def test_a_zero_that_was_asked_for_is_kept() -> None:
    options = block(2, number(1, 0), block(2, block(1, "u")))
    decoded = decode_protobuf(envelope("policy/v1", "Eviction", metadata("p"), options))
    assert decoded["deleteOptions"] == {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}}
    negative = decode_protobuf(envelope("v1", "DeleteOptions", number(1, -1)))
    assert negative["gracePeriodSeconds"] == -1


def test_a_number_or_a_text_is_what_it_says_it_is() -> None:
    percent = block(2, block(1, number(1, 1), number(2, 0), block(3, "50%")))
    count = block(2, block(3, number(1, 0), number(2, 2), block(3, "")))
    budget = ("policy/v1", "PodDisruptionBudget")
    assert decode_protobuf(envelope(*budget, percent))["spec"] == {"minAvailable": "50%"}
    assert decode_protobuf(envelope(*budget, count))["spec"] == {"maxUnavailable": 2}


def test_lists_keep_their_empty_members() -> None:
    rule = block(2, block(1, "get"), block(2, ""), block(3, "pods"))
    decoded = decode_protobuf(envelope("rbac.authorization.k8s.io/v1", "Role", metadata("r"), rule))
    assert decoded["rules"] == [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]


def test_a_kind_that_is_not_among_the_small_ones_is_to_be_sent_as_json() -> None:
    with pytest.raises(Refusal, match="StatefulSet can only be read as JSON or YAML") as refused:
        decode_protobuf(envelope("apps/v1", "StatefulSet", metadata("d")))
    assert refused.value.code == 415


@given(st.binary(max_size=60))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    for body in (data, MAGIC + data, MAGIC + block(1, block(2, "ConfigMap")) + block(2, data)):
        try:
            decode_protobuf(body)
        except Refusal as refusal:
            assert refusal.code in (400, 415)


async def test_the_api_takes_it_where_a_body_is_taken() -> None:
    call = caller()
    made = await call("POST", CONFIGMAPS, envelope("v1", "ConfigMap", metadata("a")), type=PROTOBUF)
    assert made.status == 201 and made.meta["labels"] == {"app": "web"}
    await call.pod("p", node="n")
    body = envelope("policy/v1", "Eviction", metadata("p"), block(2, number(1, 7)))
    assert (await call("POST", f"{PODS}/p/eviction", body, type=PROTOBUF)).status == 201
    assert (await call.get(f"{PODS}/p")).meta["deletionGracePeriodSeconds"] == 7

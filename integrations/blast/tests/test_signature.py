"""Signature Version 4: the four examples that AWS publishes for S3, and what must hold for every request."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring_blast.store.signature import Credentials, Request, encode_path, encode_query, sign

# The examples of the page "Signature Calculations for the Authorization Header" of the Amazon S3 API Reference.
EXAMPLE = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
AT = datetime(2013, 5, 24, tzinfo=UTC)
HOST = "examplebucket.s3.amazonaws.com"
PUBLISHED = {
    "get-object-with-a-range": (
        Request("GET", HOST, "/test.txt", headers={"Range": "bytes=0-9"}),
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ),
    "put-object": (
        Request(
            "PUT",
            HOST,
            "/test$file.text",
            headers={"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            payload_sha256="44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
        ),
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    ),
    "get-bucket-lifecycle": (
        Request("GET", HOST, "/", query={"lifecycle": ""}),
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    ),
    "list-objects": (
        Request("GET", HOST, "/", query={"max-keys": "2", "prefix": "J"}),
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_examples_have_the_published_signatures(name: str) -> None:
    request, signature = PUBLISHED[name]
    signed = sign(request, EXAMPLE, "us-east-1", AT)
    assert signed["Authorization"].endswith(f"Signature={signature}")


def test_a_session_token_is_sent_and_signed() -> None:
    temporary = Credentials(EXAMPLE.access_key, EXAMPLE.secret_key, "a-token")
    signed = sign(PUBLISHED["list-objects"][0], temporary, "us-east-1", AT)
    assert signed["x-amz-security-token"] == "a-token"
    assert "x-amz-security-token" in signed["Authorization"]


def test_keys_are_not_shown() -> None:
    assert "EXAMPLE" not in repr(EXAMPLE)


texts = st.text(min_size=1, max_size=30)


@given(path=texts, query=st.dictionaries(texts, texts, max_size=4))
def test_a_signature_depends_on_every_part_and_never_contains_the_secret(path: str, query: dict[str, str]) -> None:
    def signature(request: Request, region: str = "us-east-1", at: datetime = AT) -> str:
        return sign(request, EXAMPLE, region, at)["Authorization"].rpartition("=")[2]

    plain = Request("GET", HOST, f"/{path}", query)
    others = {
        signature(Request("PUT", HOST, f"/{path}", query)),
        signature(Request("GET", "other", f"/{path}", query)),
        signature(Request("GET", HOST, f"/{path}x", query)),
        signature(Request("GET", HOST, f"/{path}", {**query, "more": ""} if "more" not in query else {})),
        signature(Request("GET", HOST, f"/{path}", query, {"Range": "bytes=1-"})),
        signature(Request("GET", HOST, f"/{path}", query, payload_sha256="0" * 64)),
        signature(plain, "eu-west-1"),
        signature(plain, at=datetime(2013, 5, 25, tzinfo=UTC)),
    }
    assert len(others) == 8 and signature(plain) not in others
    assert signature(plain) == signature(Request("GET", HOST, f"/{path}", dict(reversed(query.items()))))
    assert not any(EXAMPLE.secret_key in value for value in sign(plain, EXAMPLE, "us-east-1", AT).values())


@given(path=texts, query=st.dictionaries(texts, texts, max_size=4))
def test_what_is_encoded_has_only_unreserved_characters(path: str, query: dict[str, str]) -> None:
    assert re.fullmatch(r"(?:[A-Za-z0-9/._~-]|%[0-9A-F]{2})*", encode_path(path))
    assert re.fullmatch(r"(?:[A-Za-z0-9._~=&-]|%[0-9A-F]{2})*", encode_query(query))

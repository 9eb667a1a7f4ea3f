"""The codec: whatever is encoded is read again, in pieces of any size; whatever is not a message is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring_postgres_gateway.wire import bodies
from mooring_postgres_gateway.wire.bodies import Bind, Column, Execute, Parse, Target
from mooring_postgres_gateway.wire.frames import Framer, Message, ProtocolViolation, encode_all
from mooring_postgres_gateway.wire.startup import CancelRequest, Startup, check_length, encode_packet, parse_packet

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)
names = texts.filter(bool)
words = st.integers(0, 2**32 - 1)
shorts = st.integers(0, 1)
values = st.none() | st.binary(max_size=30)
kinds = st.sampled_from([bytes([code]) for code in b"QPBDECSHXdcfp123"])
messages = st.builds(Message, kinds, st.binary(max_size=50))


@given(st.lists(messages, max_size=8), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_messages_are_found_in_pieces_of_any_size(sent, sizes):
    data, framer, found = encode_all(sent), Framer(), []
    while data:
        for size in sizes:
            found += framer.feed(data[:size])
            data = data[size:]
    assert found == sent
    assert framer.pending_bytes == 0


@given(st.binary(max_size=200))
def test_bytes_of_strangers_are_messages_or_are_refused_and_never_more_than_the_limit(data):
    framer = Framer(limit=64)
    try:
        found = framer.feed(data)
    except ProtocolViolation:
        return
    assert all(len(message.body) <= 60 for message in found)
    assert encode_all(found) == data[: len(data) - framer.pending_bytes]
    assert framer.pending_bytes <= 65


def test_a_message_that_claims_a_gigabyte_is_refused_at_its_header():
    with pytest.raises(ProtocolViolation, match="1073741824 bytes"):
        Framer().feed(b"Q\x40\x00\x00\x00")


@given(st.builds(Parse, texts, texts, st.lists(words, max_size=5).map(tuple)))
def test_parse_is_read_again(parse):
    assert bodies.parse_parse(parse.encode().body) == parse


@given(
    st.builds(
        Bind,
        texts,
        texts,
        st.lists(shorts, max_size=3).map(tuple),
        st.lists(values, max_size=5).map(tuple),
        st.lists(shorts, max_size=3).map(tuple),
    )
)
def test_bind_is_read_again(bind):
    assert bodies.parse_bind(bind.encode().body) == bind


@given(texts, words, st.sampled_from("SP"))
def test_execute_and_targets_are_read_again(name, rows, kind):
    assert bodies.parse_execute(Execute(name, rows).encode().body) == Execute(name, rows)
    assert bodies.parse_target(Target(kind, name).encode(b"D").body) == Target(kind, name)


@given(
    st.lists(st.builds(Column, texts, words, st.integers(-1, 100), shorts), max_size=5), st.lists(values, max_size=5)
)
def test_columns_and_rows_are_read_again(columns, row):
    assert bodies.parse_row_description(bodies.row_description(columns).body) == columns
    assert bodies.parse_data_row(bodies.data_row(row).body) == row


@given(st.sampled_from([bodies.parse_parse, bodies.parse_bind, bodies.parse_execute, bodies.parse_target]), st.binary())
def test_malformed_bodies_are_refused(parse, body):
    try:
        parse(body)
    except ProtocolViolation:
        return


@given(
    st.dictionaries(names.filter(lambda name: not name.startswith("_pq_.")), texts, max_size=5)
    | st.tuples(words, words)
)
def test_start_up_packets_are_read_again(content):
    packet = CancelRequest(*content) if isinstance(content, tuple) else Startup(content)
    data = encode_packet(packet)
    assert check_length(data[:4]) == len(data) - 4
    assert parse_packet(data[4:]) == packet


@pytest.mark.parametrize("length", [0, 7, 10_001, 2**32 - 1])
def test_a_start_up_packet_of_an_absurd_length_is_refused(length):
    with pytest.raises(ProtocolViolation):
        check_length(length.to_bytes(4, "big"))

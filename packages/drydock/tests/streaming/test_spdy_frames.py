"""SPDY/3.1 frames: as the specification has them, cut anywhere, and refused when they are not."""

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drydock.streaming.spdy_frames import (
    DICTIONARY,
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    GoAway,
    Ping,
    Reset,
    SpdyError,
    SynReply,
    SynStream,
)

_FRAMES: list[Frame] = [
    SynStream(1, {"streamtype": "error", "port": "80", "requestid": "0"}),
    SynStream(3, {"streamtype": "data", "port": "80", "requestid": "0"}, fin=True),
    SynReply(1, {}),
    Data(3, b"hello"),
    Data(3, b"", fin=True),
    Reset(3, 5),
    Ping(7),
    GoAway(3),
]


def _read(data: bytes) -> list[Frame]:
    return list(FrameReader().feed(data))


def test_the_dictionary_is_that_of_the_specification() -> None:
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2  # the number that compressed headers carry


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), max_size=60))
def test_frames_are_the_same_however_they_are_cut(sizes: list[int]) -> None:
    writer, reader = FrameWriter(), FrameReader()
    data = b"".join(writer.pack(frame) for frame in _FRAMES)
    found: list[Frame] = []
    for size in sizes:
        found += reader.feed(data[:size])
        data = data[size:]
    found += reader.feed(data)
    assert found == _FRAMES


def test_a_frame_is_written_as_the_specification_says() -> None:
    writer = FrameWriter()
    assert writer.pack(Data(5, b"ab", fin=True)) == bytes.fromhex("00000005 01000002") + b"ab"
    assert writer.pack(Ping(2)) == bytes.fromhex("80030006 00000004 00000002")
    assert writer.pack(Reset(3, 1)) == bytes.fromhex("80030003 00000008 00000003 00000001")
    assert writer.pack(GoAway(9)) == bytes.fromhex("80030007 00000008 00000009 00000000")


def test_header_names_are_in_lower_case_whatever_is_sent() -> None:
    assert _read(FrameWriter().pack(SynStream(1, {"streamType": "stdout"}))) == [SynStream(1, {"streamtype": "stdout"})]


def test_what_has_no_meaning_here_is_passed_over() -> None:
    settings = bytes.fromhex("80030004 0000000c 00000001 00000004 00000064")
    window = bytes.fromhex("80030009 00000008 00000001 00001000")
    assert _read(settings + window + FrameWriter().pack(Ping(1))) == [Ping(1)]


def test_late_headers_keep_the_decompressor_in_step() -> None:
    writer = FrameWriter()
    first = writer.pack(SynStream(1, {"a": "b"}))
    late = bytearray(writer.pack(SynReply(1, {"c": "d"})))
    late[3] = 8  # the same block in a HEADERS frame
    assert _read(first + bytes(late) + writer.pack(SynStream(3, {"a": "e"}))) == [
        SynStream(1, {"a": "b"}),
        SynStream(3, {"a": "e"}),
    ]


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("80020001 00000000"),  # version 2
        bytes.fromhex("00000001 00ffffff"),  # 16 MiB at once
        bytes.fromhex("80030001 0000000e 00000001 00000000 0000 deadbeef"),  # not compressed
        bytes.fromhex("80030003 00000004 00000001"),  # too short
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_is_not_spdy_is_refused(data: bytes) -> None:
    with pytest.raises(SpdyError):
        _read(data)


def test_headers_that_grow_without_end_are_refused() -> None:
    deflate = zlib.compressobj(zdict=DICTIONARY)
    block = struct.pack(">II", 1, 1 << 24) + b"a" * (1 << 24)
    packed = deflate.compress(block) + deflate.flush(zlib.Z_SYNC_FLUSH)
    frame = struct.pack(">IIIIBB", 0x80030001, len(packed) + 10, 1, 0, 0, 0) + packed
    with pytest.raises(SpdyError):
        _read(frame)


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    try:
        _read(data)
    except SpdyError:
        pass

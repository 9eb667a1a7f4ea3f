"""Values on the wire: what is encoded is read again."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring_postgres_gateway.worker import values as v
from mooring_postgres_gateway.worker.arrays import ELEMENTS, decode_parameter, parameter_oid
from mooring_postgres_gateway.worker.copying import CopyOptions, RowReader, encode_rows
from mooring_postgres_gateway.worker.numerics import decode_numeric, encode_numeric

decimals = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001


@given(decimals)
def test_numerics_are_read_again(value):
    assert decode_numeric(encode_numeric(value)) == value


@given(
    st.one_of(
        st.tuples(st.booleans(), st.just(v.BOOL)),
        st.tuples(st.integers(-(2**15), 2**15 - 1), st.just(v.INT2)),
        st.tuples(st.integers(-(2**31), 2**31 - 1), st.just(v.INT4)),
        st.tuples(st.integers(-(2**63), 2**63 - 1), st.just(v.INT8)),
        st.tuples(st.floats(allow_nan=False), st.just(v.FLOAT8)),
        st.tuples(decimals, st.just(v.NUMERIC)),
        st.tuples(st.text(st.characters(exclude_categories=("Cs",))), st.just(v.TEXT)),
        st.tuples(st.binary(), st.just(v.BYTEA)),
        st.tuples(st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.just(v.DATE)),
        st.tuples(st.times(), st.just(v.TIME)),
        st.tuples(moments, st.just(v.TIMESTAMP)),
        st.tuples(moments.map(lambda moment: moment.replace(tzinfo=UTC)), st.just(v.TIMESTAMPTZ)),
        st.tuples(st.timedeltas(timedelta(-1000), timedelta(1000)), st.just(v.INTERVAL)),
    )
)
def test_binary_values_are_read_again(pair):
    value, oid = pair
    assert v.decode(v.encode(value, oid, 1), oid, 1) == value


@given(st.binary(max_size=20), st.sampled_from([v.INT4, v.DATE, v.TIMESTAMP, v.NUMERIC, v.UUID_OID, v.INTERVAL, 9999]))
def test_malformed_parameters_are_refused_by_name(raw, oid):
    try:
        v.decode(raw, oid, 1)
    except ValueError:
        return


@given(st.binary(max_size=40), st.sampled_from(sorted(ELEMENTS)), st.sampled_from([0, 1]))
def test_malformed_arrays_are_refused_by_name(raw, oid, form):
    try:
        decode_parameter(raw, oid, form)
    except ValueError:
        return


cells = st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)


@pytest.mark.parametrize("form", ["text", "csv"])
@given(st.lists(st.tuples(cells, cells), max_size=6), st.integers(1, 7))
def test_rows_of_copy_are_read_again_in_pieces_of_any_size(form, rows, size):
    options = CopyOptions(form)
    options.finish()
    data, reader, found = encode_rows(rows, [v.TEXT, v.TEXT], options), RowReader(options, [v.TEXT, v.TEXT]), []
    for at in range(0, len(data), size):
        found += reader.feed(data[at : at + size])
    found += reader.finish()
    assert [tuple(row) for row in found] == rows


def test_text_forms():
    assert v.to_text(timedelta(days=1, hours=2), v.INTERVAL) == "1 days 02:00:00"
    assert v.to_text(time(1, 2, 3), v.TIME) == "01:02:03"
    assert v.to_text(float("-inf"), v.FLOAT8) == "-Infinity"
    assert v.to_text({"a": [1]}, v.JSON) == '{"a": [1]}'


@pytest.mark.parametrize(
    "kind, oid",
    [("INTEGER[]", 1007), ("bigint []", 1016), ("VARCHAR[]", 1009), ("DECIMAL(9,2)[]", 1231), ("INTEGER", v.INT4)],
)
def test_a_parameter_that_is_cast_to_a_list_has_the_type_of_an_array(kind, oid):
    assert parameter_oid(kind) == oid

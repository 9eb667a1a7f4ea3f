"""What is repeated is known to be harmless. Everything else counts as a write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring_postgres_gateway.sql import casts_of_parameters, split_statements
from mooring_postgres_gateway.statements import Kind, classify_text

READS = [
    "SELECT 1",
    "  -- a comment\n select 'DELETE FROM t' as \"INSERT\"",
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "FROM t SELECT a",
    "VALUES (1), (2)",
    "(SELECT 1) UNION (SELECT 2)",
    "EXPLAIN DELETE FROM t",
    "EXPLAIN ANALYZE SELECT 1",
    "SHOW TABLES",
    "COPY (SELECT * FROM t) TO STDOUT (FORMAT csv)",
    "copy t to stdout",
    "SELECT $$DROP TABLE t; $$, $tag$ UPDATE $$ $tag$",
]
WRITES = [
    "INSERT INTO t VALUES (1)",
    "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
    "SELECT * INTO u FROM t",
    "SELECT nextval('s')",
    "SELECT * FROM postgres_execute('db', 'DELETE FROM t')",
    "SELECT * FROM query('SELECT nextval(''s'')')",
    "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
    "SELECT * FROM t FOR UPDATE",
    "CREATE TABLE t (a INT)",
    "ATTACH 'x.db'",
    "SET VARIABLE x = 1",
    "PREPARE p AS SELECT 1",
    "COPY t FROM 'file'",
    "COPY (INSERT INTO t VALUES (1) RETURNING a) TO STDOUT",
    "ROLLBACK TO SAVEPOINT s",
    "COMMIT PREPARED 'x'",
    "SELECT 'no end",
    "/* no end",
    "something unheard of",
]


@pytest.mark.parametrize("text", READS)
def test_reads(text):
    assert [nature.kind for nature in classify_text(text)] == [Kind.READ]


@pytest.mark.parametrize("text", WRITES)
def test_writes_and_what_is_not_understood(text):
    assert [nature.kind for nature in classify_text(text)] == [Kind.WRITE]


@pytest.mark.parametrize(
    "text, kind",
    [
        ("COPY t FROM STDIN", Kind.COPY_IN),
        ("COPY (SELECT 1) TO 'file.csv'", Kind.EXPORT),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", Kind.BEGIN),
        ("start transaction read only", Kind.BEGIN),
        ("END", Kind.COMMIT),
        ("ABORT", Kind.ROLLBACK),
        ("SET search_path = x", Kind.SETTING),
        ("SET LOCAL x = 1", Kind.NEUTRAL),
        ("RESET ALL", Kind.SETTING),
        ("DISCARD ALL", Kind.DISCARD),
        ("DEALLOCATE x", Kind.NEUTRAL),
        ("SAVEPOINT x", Kind.NEUTRAL),
        ("RELEASE SAVEPOINT x", Kind.NEUTRAL),
    ],
)
def test_other_kinds(text, kind):
    assert [nature.kind for nature in classify_text(text)] == [kind]


def test_a_write_is_repeatable_only_if_its_own_comment_marks_it():
    first, second = classify_text("/* mooring:safe */ INSERT INTO t VALUES (1); INSERT INTO t VALUES ('mooring:safe')")
    assert first.repeatable and not second.repeatable


def test_semicolons_in_quotes_and_comments_do_not_end_a_statement():
    text = "SELECT ';', \";\", $$;$$, E'\\';' /* ; /* ; */ ; */ -- ;\n; ; SELECT 2;"
    assert [statement.text for statement in split_statements(text)] == [text.split("; ;")[0].strip(), "SELECT 2"]


@given(st.text(alphabet=st.sampled_from("aA1 ;'\"$-/*\\\n()[]"), max_size=60))
def test_the_statements_of_a_text_are_pieces_of_it_in_order(text):
    at = 0
    for statement in split_statements(text):
        at = text.index(statement.text, at) + len(statement.text)


@given(st.sampled_from(WRITES[:14]), st.sampled_from(READS))
def test_a_text_with_a_write_is_never_only_reads(write, read):
    assert not all(nature.repeatable for nature in classify_text(f"{read}; {write}"))


def test_types_of_parameters_are_those_that_the_text_casts_them_to():
    assert casts_of_parameters("SELECT $1::INT, CAST($2 AS DECIMAL(10, 2)), $3") == {1: "INT", 2: "DECIMAL(10, 2)"}

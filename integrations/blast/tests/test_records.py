"""Queries, plans, hits and settings: pure values in, values or errors with a fix out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.errors import InvalidInput, Misconfigured
from mooring_blast.databases.manifest import Catalogue, FileEntry, Manifest, encode, read_manifest
from mooring_blast.searches.hits import COLUMNS, Hit, format_hits, merge, read_hits
from mooring_blast.searches.plan import Options, check_id, make_plan
from mooring_blast.searches.query import MOST_BYTES, Query, compute_search_space, parse_fasta, split_queries
from mooring_blast.store.errors import ObjectDamaged
from mooring_blast.store.settings import parse_address, read_settings

CATALOGUE = Catalogue("nt", "g1", ("0" * 64,) * 3, letters=1000, sequences=10)


def test_queries_are_read_with_their_names() -> None:
    text = "\n>first a description\nACGT\nacgtn\n\n>second\nUUU\n"
    assert parse_fasta(text) == (Query("first", "ACGTacgtn"), Query("second", "UUU"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "0 sequences"),
        ("ACGT", "line 1"),
        (">a\nACGT\n>b\n", "line 3"),
        (">a\nAC<script>GT", "line 2"),
        (">\nACGT", "line 1"),
        (">a\nACGT\n>a\nACGT", "only one sequence"),
        (">a\n" + "A" * MOST_BYTES, "at most"),
        ("".join(f">q{n}\nA\n" for n in range(1001)), "1001 sequences"),
    ],
)
def test_a_query_that_is_wrong_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        parse_fasta(text)


letters = st.text("ACGTN", min_size=1, max_size=200)
names = st.lists(st.from_regex(r"[A-Za-z0-9_|.]{1,20}", fullmatch=True), min_size=1, max_size=12, unique=True)


@given(names=names, letters=letters, each=st.integers(1, 5))
def test_batches_hold_every_query_once_in_order(names: list[str], letters: str, each: int) -> None:
    queries = tuple(Query(name, letters) for name in names)
    batches = split_queries(queries, each)
    text = "".join(str(query) for batch in batches for query in batch)
    assert parse_fasta(text) == queries
    assert all(1 <= len(batch) <= each for batch in batches)


def test_the_search_space_is_that_of_the_whole_database() -> None:
    queries = (Query("a", "A" * 100), Query("b", "A" * 300))
    assert compute_search_space(1000, queries) == 200_000
    plan, batches = make_plan("s1", CATALOGUE, queries)
    assert (plan.search_space, plan.shards, len(batches)) == (200_000, 3, 1)
    assert plan.reports() == [(0, 0), (0, 1), (0, 2)]


@pytest.mark.parametrize("search", ["", "A", "-a", "a/b", "..", "a" * 41, "a\n"])
def test_an_id_that_cannot_be_a_key_is_refused(search: str) -> None:
    with pytest.raises(InvalidInput, match="search"):
        check_id(search)


@pytest.mark.parametrize("options", [Options(0.0), Options(float("nan")), Options(1e9), Options(1.0, 0)])
def test_options_out_of_range_are_refused(options: Options) -> None:
    with pytest.raises(InvalidInput, match=r"evalue|targets"):
        make_plan("s1", CATALOGUE, (Query("a", "A"),), options)


def hit(query: str, subject: str, evalue: str, score: str = "100") -> Hit:
    values = [query, subject, "99.0", "10", "0", "0", "1", "10", "1", "10", evalue, score, "562", "E. coli"]
    [found] = read_hits("\t".join(values), "a test")
    return found


def test_hits_are_in_the_order_of_the_queries_best_first() -> None:
    shards = [[hit("b", "s1", "1e-9"), hit("a", "s1", "1e-5")], [hit("a", "s2", "1e-50"), hit("a", "s2", "1e-7")]]
    merged = merge([one for shard in shards for one in shard], ("a", "b"), targets=10)
    assert [(one.query, one.evalue) for one in merged] == [("a", 1e-50), ("a", 1e-7), ("a", 1e-5), ("b", 1e-9)]
    assert [one.subject for one in merge(merged, ("a", "b"), targets=1)] == ["s2", "s2", "s1"]
    assert format_hits(merged).decode().splitlines()[0].split("\t") == list(COLUMNS)


@given(st.permutations([hit("a", f"s{n}", f"1e-{n % 3}") for n in range(8)]))
def test_the_order_of_reports_does_not_matter(hits: list[Hit]) -> None:
    assert merge(hits, ("a",), 5) == merge(sorted(hits, key=lambda one: one.line), ("a",), 5)


@pytest.mark.parametrize("line", ["a\tb", "\t".join("x" * len(COLUMNS)), "<html>"])
def test_a_report_that_is_no_table_is_refused(line: str) -> None:
    with pytest.raises(ObjectDamaged, match=r"q00-s01: .* is not a hit"):
        read_hits(line, "q00-s01")


@pytest.mark.parametrize(
    "files",
    [(), (FileEntry("manifest.json", 1, "0" * 64),), (FileEntry("a", -1, "0" * 64),), (FileEntry("a", 1, "0"),)],
)
def test_a_manifest_that_cannot_be_right_is_refused(files: tuple[FileEntry, ...]) -> None:
    with pytest.raises(ObjectDamaged):
        read_manifest(encode(Manifest("nt", "g1", 0, "db", files)), "a manifest")


def test_the_address_of_a_store_is_a_url() -> None:
    address = parse_address("https://s3.example:9000/bucket/deep/prefix/")
    assert (address.endpoint, address.bucket, address.prefix) == ("https://s3.example:9000", "bucket", "deep/prefix")
    assert (address.host, address.path("a b")) == ("s3.example:9000", "/bucket/deep/prefix/a b")
    assert parse_address("https://s3.example:443/b").host == "s3.example"


@pytest.mark.parametrize("url", ["", "s3://bucket", "https://host", "https://host:99999/b", "file:///b"])
def test_an_address_without_a_bucket_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="BLAST_STORE"):
        parse_address(url)


def test_keys_in_an_address_are_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_address("https://key:a-secret@host/bucket")
    assert "a-secret" not in str(refused.value)


def test_keys_come_from_variables_or_from_a_folder_that_may_change(tmp_path) -> None:
    plain = read_settings({"BLAST_STORE": "http://h/b", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"})
    assert plain.credentials().secret_key == "s"
    assert "AWS" not in repr(plain)
    mounted = read_settings({"BLAST_STORE": "http://h/b", "BLAST_STORE_CREDENTIALS": str(tmp_path)})
    with pytest.raises(Misconfigured, match="AWS_ACCESS_KEY_ID is not set"):
        mounted.credentials()
    (tmp_path / "AWS_ACCESS_KEY_ID").write_text("k\n")
    for secret in ("before", "after"):
        (tmp_path / "AWS_SECRET_ACCESS_KEY").write_text(secret)
        assert mounted.credentials().secret_key == secret
    with pytest.raises(Misconfigured, match="BLAST_STORE is not set"):
        read_settings({})

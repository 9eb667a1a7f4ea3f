"""What a search is, as data: the plan that the page writes and the pods read, and the keys of its objects.

Objects are `searches/ID/plan.json`, `…/queries/NN.fa`, `…/reports/qNN-sNN.tsv`, and in the end `…/hits.tsv` and
`…/summary.json`.
"""

import re
from typing import TypeVar

import msgspec

from mooring.model.errors import InvalidInput
from mooring_blast.databases.manifest import Catalogue, Generation
from mooring_blast.searches.query import Query, compute_search_space, split_queries
from mooring_blast.store.errors import ObjectDamaged

PREFIX = "searches/"
DEFAULT_EVALUE = 1e-5
DEFAULT_TARGETS = 100
_MOST_TARGETS = 5000
_QUERIES_EACH = 100
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


class _Record(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON object of the store."""


class Plan(_Record, frozen=True):
    """A search: what is searched for, where, and what counts as a hit."""

    id: str
    dataset: str
    generation: str
    shards: int
    batches: int
    queries: tuple[str, ...]
    search_space: int
    evalue: float = DEFAULT_EVALUE
    targets: int = DEFAULT_TARGETS

    @property
    def named(self) -> Generation:
        """The database."""
        return Generation(self.dataset, self.generation)

    def reports(self) -> list[tuple[int, int]]:
        """Batch and shard of every report."""
        return [(batch, shard) for batch in range(self.batches) for shard in range(self.shards)]


class Summary(_Record, frozen=True):
    """The result of a search, without its hits."""

    id: str
    hits: int
    queries_with_hits: int
    sha256: str


class Options(msgspec.Struct, frozen=True):
    """What counts as a hit: e-values up to `evalue`, and at most `targets` sequences for each query."""

    evalue: float = DEFAULT_EVALUE
    targets: int = DEFAULT_TARGETS


T = TypeVar("T", Plan, Summary)


def check_id(search: str) -> str:
    """The id itself; raises `InvalidInput` if it cannot be part of keys and names."""
    if not _ID.fullmatch(search):
        raise InvalidInput("search", search, "1 to 40 lower-case letters, digits and '-'")
    return search


def check_options(options: Options) -> Options:
    """The options themselves."""
    if not 0.0 < options.evalue <= 1000.0:
        raise InvalidInput("evalue", options.evalue, "a number above 0, at most 1000")
    if not 1 <= options.targets <= _MOST_TARGETS:
        raise InvalidInput("targets", options.targets, f"1 to {_MOST_TARGETS}")
    return options


def make_plan(
    search: str, catalogue: Catalogue, queries: tuple[Query, ...], options: Options = Options()
) -> tuple[Plan, list[str]]:
    """The plan, and the FASTA of each batch."""
    check_id(search)
    check_options(options)
    batches = split_queries(queries, _QUERIES_EACH)
    plan = Plan(
        id=search,
        dataset=catalogue.dataset,
        generation=catalogue.generation,
        shards=catalogue.shards,
        batches=len(batches),
        queries=tuple(query.name for query in queries),
        search_space=compute_search_space(catalogue.letters, queries),
        evalue=options.evalue,
        targets=options.targets,
    )
    return plan, ["".join(map(str, batch)) for batch in batches]


def plan_key(search: str) -> str:
    """The key of the plan."""
    return f"{PREFIX}{search}/plan.json"


def query_key(search: str, batch: int) -> str:
    """The key of the queries of a batch."""
    return f"{PREFIX}{search}/queries/{batch:02}.fa"


def report_key(search: str, batch: int, shard: int) -> str:
    """The key of the report of a batch in a shard."""
    return f"{PREFIX}{search}/reports/{step_name(batch, shard)}.tsv"


def step_name(batch: int, shard: int) -> str:
    """The name of the step that writes a report."""
    return f"q{batch:02}-s{shard:02}"


def hits_key(search: str) -> str:
    """The key of the merged hits."""
    return f"{PREFIX}{search}/hits.tsv"


def summary_key(search: str) -> str:
    """The key of the summary, which is written last."""
    return f"{PREFIX}{search}/summary.json"


def read_record(content: bytes, kind: type[T], where: str) -> T:
    """A plan or a summary."""
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise ObjectDamaged(f"{where} cannot be read: {error}") from error

"""What runs in the pods of a search: blastn beside a warm shard, and the merge of all reports."""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mooring.model.errors import Conflict, MooringError
from mooring_blast.databases.local import read_local
from mooring_blast.databases.manifest import digest
from mooring_blast.searches.hits import OUTPUT_FORMAT, Hit, format_hits, merge, read_hits
from mooring_blast.searches.plan import (
    Plan,
    Summary,
    hits_key,
    plan_key,
    query_key,
    read_record,
    report_key,
    summary_key,
)
from mooring_blast.store.client import ObjectStore
from mooring_blast.store.patience import Patience

_REPORT_BYTES = 1024 * 1024 * 1024
_TSV = "text/tab-separated-values"


class SearchFailed(MooringError):
    """blastn ended with an error."""

    code = "search_failed"


def blastn_command(plan: Plan, database: Path, query: Path, report: Path) -> list[str]:
    """The search of one batch in one database, a shard or the whole."""
    return [
        "blastn",
        *("-db", str(database)),
        *("-query", str(query)),
        *("-out", str(report)),
        *("-evalue", repr(plan.evalue)),
        *("-searchsp", str(plan.search_space)),
        *("-max_target_seqs", str(plan.targets)),
        *("-outfmt", OUTPUT_FORMAT),
    ]


@dataclass(slots=True)
class Steps:
    """The steps of one search."""

    store: ObjectStore
    patience: Patience
    search: str

    async def run_batch(self, batch: int, shard: int, folder: Path) -> str:
        """Search one shard; its report is written as a whole, so it may be written twice."""
        plan = await self._plan()
        manifest = read_local(folder)
        if (manifest.dataset, manifest.generation, manifest.shard) != (plan.dataset, plan.generation, shard):
            raise Conflict(
                f"{folder} has shard {manifest.shard} of {manifest.dataset} {manifest.generation}, "
                f"the search is for shard {shard} of {plan.dataset} {plan.generation}",
                fix="submit the search again: it then uses the new generation",
            )
        queries = await self._get(query_key(self.search, batch))
        report = await _run_blastn(plan, folder / manifest.database, queries)
        found = len(read_hits(report.decode(), "blastn"))
        key = report_key(self.search, batch, shard)
        await self.patience.keep(lambda: self.store.put(key, report, _TSV))
        return f"{found} hit(s) written to {key}"

    async def run_merge(self) -> str:
        """Merge the reports of all batches and shards; without one of them there is no result."""
        plan = await self._plan()
        hits: list[Hit] = []
        for batch, shard in plan.reports():
            key = report_key(self.search, batch, shard)
            hits += read_hits((await self._get(key)).decode(), key)
        merged = merge(hits, plan.queries, plan.targets)
        table = format_hits(merged)
        summary = Summary(plan.id, len(merged), len({hit.query for hit in merged}), digest(table))
        await self.patience.keep(lambda: self.store.put(hits_key(self.search), table, _TSV))
        encoded = msgspec.json.encode(summary)
        await self.patience.keep(lambda: self.store.put(summary_key(self.search), encoded, "application/json"))
        return f"merged {summary.hits} hit(s) of {len(plan.reports())} report(s)"

    async def _plan(self) -> Plan:
        key = plan_key(self.search)
        return read_record(await self._get(key), Plan, key)

    async def _get(self, key: str) -> bytes:
        return await self.patience.keep(lambda: self.store.get(key, _REPORT_BYTES))


async def _run_blastn(plan: Plan, database: Path, queries: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="mooring-blast-") as name:
        query, report = Path(name) / "query.fa", Path(name) / "report.tsv"
        query.write_bytes(queries)
        process = await asyncio.create_subprocess_exec(
            *blastn_command(plan, database, query, report),
            env={**_harmless(os.environ), "BLASTDB": str(database.parent)},
            stderr=asyncio.subprocess.PIPE,
        )
        _, complaint = await process.communicate()
        if process.returncode:
            said = complaint.decode(errors="replace").strip()[-2000:]
            raise SearchFailed(f"blastn ended with {process.returncode}: {said}", fix="see the log of the step")
        return report.read_bytes()


def _harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """Without the keys of the store: blastn needs none."""
    return {name: value for name, value in environment.items() if not name.startswith(("AWS_", "BLAST_STORE"))}

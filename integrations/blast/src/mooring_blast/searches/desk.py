"""Taking searches in and looking at them: the store has plans and results, Mooring runs the steps.

A search is written to the store first and then submitted under its id. Whatever dies in between, the same call with
the same id goes on: nothing runs twice.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from mooring.client import RemoteError
from mooring.model.errors import MooringError
from mooring_blast.databases.manifest import Catalogue, Generation, read_catalogue
from mooring_blast.searches.manifests import Site, submission_spec
from mooring_blast.searches.plan import (
    PREFIX,
    Options,
    Plan,
    Summary,
    check_id,
    hits_key,
    make_plan,
    plan_key,
    query_key,
    read_record,
    summary_key,
)
from mooring_blast.searches.query import parse_fasta
from mooring_blast.store.client import ObjectStore, Opened
from mooring_blast.store.errors import ObjectMissing

_LISTED = 20


class Requests(Protocol):
    """Requests to Mooring's API."""

    async def request(self, method: str, path: str, query: None = None, body: object = None) -> Any:
        """Decoded JSON of the answer."""
        ...


class State(StrEnum):
    """How far a search is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNSENT = "not submitted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Look:
    """A search as it is now."""

    plan: Plan
    state: State
    message: str = ""
    done: int = 0
    total: int = 0
    summary: Summary | None = None

    @property
    def ended(self) -> bool:
        """Whether it will not change by itself."""
        return self.state in (State.DONE, State.FAILED, State.UNSENT)


_STATES = {"Succeeded": State.DONE, "Failed": State.FAILED, "Refused": State.FAILED}
_STATES |= {"Running": State.RUNNING, "Submitting": State.RUNNING, "Pending": State.WAITING, "": State.WAITING}


@dataclass(slots=True)
class Desk:
    """Searches of one site in one database: the generation that its Warmup has."""

    store: ObjectStore
    mooring: Requests
    site: Site

    async def database(self) -> Catalogue:
        """The database that new searches use: the generation of the Warmup."""
        found = await self.mooring.request("GET", f"/v1/warmups/{self.site.namespace}/{self.site.warmup}")
        spec = found["spec"]
        named = Generation(str(spec["dataset"]), str(spec.get("generation", "")))
        return read_catalogue(await self.store.get(named.catalogue_key), named)

    async def submit(self, search: str, text: str, options: Options) -> Plan:
        """Write the search down and start it. The same id again starts the search that was written first."""
        check_id(search)
        queries = parse_fasta(text)
        try:
            plan = await self.plan(search)
        except ObjectMissing:
            plan, batches = make_plan(search, await self.database(), queries, options)
            for number, batch in enumerate(batches):
                await self.store.put(query_key(search, number), batch.encode(), "text/plain")
            await self.store.put(plan_key(search), msgspec.json.encode(plan), "application/json")
        await self.start(plan)
        return plan

    async def start(self, plan: Plan) -> None:
        """Submit a search that is written down."""
        await self.mooring.request("POST", "/v1/submissions", None, submission_spec(self.site, plan))

    async def plan(self, search: str) -> Plan:
        """The plan of a search; `ObjectMissing` if there is none."""
        key = plan_key(check_id(search))
        return read_record(await self.store.get(key), Plan, key)

    async def look(self, search: str) -> Look:
        """The result if there is one; otherwise how far Mooring is, or that this is unknown."""
        plan = await self.plan(search)
        key = summary_key(search)
        try:
            summary = read_record(await self.store.get(key), Summary, key)
        except ObjectMissing:
            return await self._progress(plan)
        total = len(plan.reports()) + 1
        return Look(plan, State.DONE, f"{summary.hits} hits", total, total, summary)

    @asynccontextmanager
    async def hits(self, search: str) -> AsyncIterator[Opened]:
        """The table of all hits."""
        async with self.store.read(hits_key(check_id(search))) as opened:
            yield opened

    async def recent(self) -> list[str]:
        """Ids of searches in the store, at most a page of them."""
        listing = await self.store.list_page(PREFIX, delimiter="/")
        ids = [prefix.rstrip("/").rpartition("/")[2] for prefix in listing.prefixes]
        return ids[-_LISTED:]

    async def _progress(self, plan: Plan) -> Look:
        try:
            found = await self.mooring.request("GET", f"/v1/submissions/{self.site.namespace}/{plan.id}")
        except RemoteError as error:
            if error.status == 404:
                return Look(plan, State.UNSENT, "Mooring does not know this search: start it again")
            return Look(plan, State.UNKNOWN, str(error))
        except MooringError as error:
            return Look(plan, State.UNKNOWN, str(error))
        status = found["status"]
        jobs = status.get("jobs") or {}
        state = _STATES.get(str(status.get("phase") or ""), State.UNKNOWN)
        done, total = int(jobs.get("succeeded", 0)), len(plan.reports()) + 1
        if state is State.DONE:  # it ended just now, or its result was deleted
            return Look(plan, State.UNKNOWN, f"it has ended, and {summary_key(plan.id)} is missing", done, total)
        return Look(plan, state, _message(status), done, total)


def _message(status: dict[str, Any]) -> str:
    """What Mooring says about it, with the evidence of a failure."""
    lines = [str(status.get("message") or "")]
    failure = status.get("failure") or {}
    lines += [str(line) for line in (failure.get("logs") or ())[-5:]] if isinstance(failure, dict) else []
    return "\n".join(line for line in lines if line)

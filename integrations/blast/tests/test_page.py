"""The page with a real S3 server and a scripted Mooring: forms, states, escapes, and each side that does not answer."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec
import pytest

from hawser.clock import Entropy, SystemClock
from integrations.blast.tests.worlds import NAMED, Proxy, Shore, client, patience
from mooring.client import RemoteError, Unreachable
from mooring.demo.blast import Dataset
from mooring.model.errors import Refused
from mooring.model.submission import SubmissionSpec
from mooring.model.submission_checks import check_submission
from mooring.model.warmup import WarmupSpec, check_spec
from mooring_blast.page.client import PageClient
from mooring_blast.page.host import running_page
from mooring_blast.searches.desk import Desk
from mooring_blast.searches.hits import COLUMNS
from mooring_blast.searches.manifests import Site, warmup_body
from mooring_blast.searches.plan import report_key
from mooring_blast.searches.steps import Steps
from mooring_blast.store.errors import ObjectMissing
from mooring_blast.store.settings import parse_address

pytestmark = pytest.mark.realtime

SITE = Site(parse_address("http://127.0.0.1:1/blast"))
QUERY = ">one\nACGTACGTACGT\n"
HOSTILE = "<script>alert('x')</script>"


@dataclass(slots=True)
class ScriptedMooring:
    """Answers requests from what the test says; counts what is submitted."""

    submitted: list[dict[str, Any]] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=lambda: {"phase": "Running", "jobs": {"succeeded": 1}})
    error: Exception | None = None

    async def request(self, method: str, path: str, query: None = None, body: object = None) -> Any:
        if self.error is not None:
            raise self.error
        if path.startswith("/v1/warmups/"):
            return {"spec": {"dataset": NAMED.dataset, "generation": NAMED.generation}}
        if method == "POST":
            self.submitted.append(dict(body))
            return {"name": "x"}
        return {"status": self.status}


@dataclass(slots=True)
class Visitor:
    """A person at the page."""

    url: str
    session: aiohttp.ClientSession

    async def get(self, path: str) -> tuple[int, str]:
        async with self.session.get(self.url + path, allow_redirects=False) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            return answer.status, await answer.text()

    async def get_as(self, host: str) -> int:
        """The status of the page, asked under another name of its address."""
        async with self.session.get(self.url, headers={"Host": host}) as answer:
            return answer.status

    async def submit(self, search: str = "s1", query: str = QUERY, **more: str) -> tuple[int, str]:
        headers = {"Origin": more.pop("origin")} if "origin" in more else {}
        form = {"search": search, "query": query, **more}
        target = f"{self.url}/searches"
        async with self.session.post(target, data=form, headers=headers, allow_redirects=False) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def visiting(store: Any, mooring: ScriptedMooring) -> AsyncIterator[Visitor]:
    async with (
        running_page(Desk(store, mooring, SITE), Entropy(1), "127.0.0.1:0") as url,
        aiohttp.ClientSession() as session,
    ):
        yield Visitor(url, session)


async def test_a_form_that_is_sent_twice_starts_one_search(shore: Shore, dataset: Dataset) -> None:
    await shore.upload(dataset)
    mooring = ScriptedMooring()
    async with visiting(shore.store, mooring) as visitor:
        assert [(await visitor.submit())[0] for _ in range(2)] == [303, 303]
        assert (await visitor.submit(query=">another\nACGT\n"))[0] == 303
        status, text = await visitor.get("/searches/s1")
        assert (status, "1 of 4 steps" in text) == (200, True)
        assert "s1" in (await visitor.get("/"))[1]
    assert mooring.submitted == [mooring.submitted[0]] * 3, "the same key and the same spec"
    assert check_submission(msgspec.convert(_spec(mooring.submitted[0]), SubmissionSpec, strict=False)) == []
    assert "ACGT" not in str(mooring.submitted), "nothing that a person typed is in the spec"


def _spec(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "namespace"}


async def test_the_warmup_is_one_that_mooring_accepts(shore: Shore, dataset: Dataset) -> None:
    body = warmup_body(SITE, await shore.upload(dataset))
    assert check_spec(msgspec.convert(body["spec"], WarmupSpec, strict=False)) == []


async def test_hits_are_merged_and_shown_and_everything_is_escaped(shore: Shore, dataset: Dataset) -> None:
    await shore.upload(dataset)
    async with visiting(shore.store, ScriptedMooring()) as visitor:
        await visitor.submit()
        values = ["one", HOSTILE, *["99", "10", "0", "0", "1", "10", "1", "10", "1e-9", "50"], "562", "E. coli"]
        for shard in range(3):
            report = "\t".join(values) + "\n" if shard == 1 else ""
            await shore.store.put(report_key("s1", 0, shard), report.encode())
        await Steps(shore.store, patience(), "s1").run_merge()
        status, text = await visitor.get("/searches/s1")
        assert (status, "1 hits for 1 of 1 queries" in text) == (200, True)
        assert HOSTILE not in text and "&lt;script&gt;" in text
        status, table = await visitor.get("/searches/s1/hits.tsv")
        assert table == "\t".join(COLUMNS) + "\n" + "\t".join(values) + "\n"
        assert '"state": "done"' in (await visitor.get("/searches/s1.json"))[1]


async def test_a_merge_without_a_report_has_no_result(shore: Shore, dataset: Dataset) -> None:
    await shore.upload(dataset)
    async with visiting(shore.store, ScriptedMooring()) as visitor:
        await visitor.submit()
        with pytest.raises(ObjectMissing, match="searches/s1/reports/q00-s00"):
            await Steps(shore.store, patience(), "s1").run_merge()
        assert '"hits": null' in (await visitor.get("/searches/s1.json"))[1]


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        ({"query": "no fasta"}, "FASTA"),
        ({"query": f">{HOSTILE}\nACGT\n>{HOSTILE}\nACGT"}, "&lt;script&gt;"),
        ({"evalue": "many"}, "numbers"),
        ({"evalue": "nan"}, "above 0"),
        ({"targets": "0"}, "1 to 5000"),
        ({"search": "../../x"}, "lower-case"),
    ],
)
async def test_a_form_that_is_wrong_says_why_and_keeps_the_query(
    shore: Shore, dataset: Dataset, form: dict[str, str], complaint: str
) -> None:
    await shore.upload(dataset)
    mooring = ScriptedMooring()
    async with visiting(shore.store, mooring) as visitor:
        status, text = await visitor.submit(**form)
    assert (status, mooring.submitted) == (400, [])
    assert complaint in text and HOSTILE not in text
    assert "aria-invalid" in text and re.search(r"<textarea[^>]*>[^<]", text)


async def test_forms_of_other_sites_and_unknown_searches_are_refused(shore: Shore, dataset: Dataset) -> None:
    await shore.upload(dataset)
    mooring = ScriptedMooring()
    async with visiting(shore.store, mooring) as visitor:
        assert (await visitor.submit(origin="https://evil.example"))[0] == 403
        assert (await visitor.submit(origin=visitor.url))[0] == 303
        assert (await visitor.get("/searches/absent"))[0] == 404
        assert (await visitor.get("/searches/absent/hits.tsv"))[0] == 404
        assert (await visitor.get("/searches/NOT%20AN%20ID"))[0] == 400
        assert (await visitor.get("/static/../server.py"))[0] == 404
        assert (await visitor.get("/static/page.js"))[0] == 200
    assert len(mooring.submitted) == 1


async def test_a_search_that_mooring_never_got_can_be_started_again(shore: Shore, dataset: Dataset) -> None:
    await shore.upload(dataset)
    mooring = ScriptedMooring()
    async with visiting(shore.store, mooring) as visitor:
        await visitor.submit()
        mooring.error = RemoteError(404, "not_found", "no such submission", {})
        assert "Start it again" in (await visitor.get("/searches/s1"))[1]
        mooring.error = None
        async with visitor.session.post(f"{visitor.url}/searches/s1/start", allow_redirects=False) as answer:
            assert answer.status == 303
    assert mooring.submitted == [mooring.submitted[0]] * 2


async def test_a_side_that_does_not_answer_is_said_and_a_failure_has_its_evidence(
    shore: Shore, dataset: Dataset
) -> None:
    await shore.upload(dataset)
    mooring, proxy = ScriptedMooring(), Proxy(shore.server)
    async with visiting(shore.store, mooring) as visitor:
        await visitor.submit()
        mooring.status = {"phase": "Failed", "message": "q00-s01 failed", "failure": {"logs": [HOSTILE]}}
        text = (await visitor.get("/searches/s1"))[1]
        assert "failed" in text and "q00-s01 failed" in text and HOSTILE not in text
        mooring.status = {"phase": "Succeeded", "jobs": {"succeeded": 4}}
        assert "searches/s1/summary.json is missing" in (await visitor.get("/searches/s1"))[1]
        mooring.error = Unreachable("Mooring does not answer", fix="start it")
        status, text = await visitor.get("/searches/s1")
        assert (status, "unknown" in text, "Mooring does not answer" in text) == (200, True, True)
        assert (await visitor.submit("s2"))[0] == 503
    proxy.down = True
    async with proxy.running() as environment, client(environment) as store, visiting(store, mooring) as visitor:
        assert (await visitor.get("/searches/s1"))[0] == 503
        status, text = await visitor.get("/")
        assert (status, "no answer from the store" in text) == (200, True)
        assert (await visitor.get("/healthz"))[0] == 200


async def test_on_loopback_the_name_of_another_site_is_refused(shore: Shore) -> None:
    async with visiting(shore.store, ScriptedMooring()) as visitor:
        assert [await visitor.get_as(host) for host in ("evil.example", "evil.example:80")] == [403, 403]
        assert [await visitor.get_as(host) for host in ("localhost", "127.0.0.1:1")] == [200, 200]


async def test_the_client_of_the_terminal_says_why_the_page_refuses(shore: Shore, dataset: Dataset) -> None:
    await shore.upload(dataset)
    mooring = ScriptedMooring()
    async with visiting(shore.store, mooring) as visitor:
        page = PageClient(visitor.session, visitor.url, SystemClock())
        with pytest.raises(Refused, match=r"the page answers 400: .*query"):
            await page.search("s1", ">bad\n1234!!\n", lambda line: None, 5)
        mooring.error = RemoteError(403, "forbidden", "no right to create submissions", {})
        with pytest.raises(Refused, match="the page answers 403: no right to create submissions"):
            await page.search("s1", QUERY, lambda line: None, 5)
    assert mooring.submitted == []

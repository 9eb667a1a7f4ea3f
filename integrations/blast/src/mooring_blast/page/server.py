"""The page as an aiohttp application. It has no login: put it behind one, or on loopback."""

from collections.abc import Awaitable, Callable
from importlib import resources
from urllib.parse import urlsplit

import jinja2
from aiohttp import web

from hawser.clock import Entropy
from mooring.client import RemoteError
from mooring.model.errors import InvalidInput, MooringError
from mooring.model.hosts import is_loopback
from mooring_blast.searches.desk import Desk, Look, State
from mooring_blast.searches.hits import COLUMNS
from mooring_blast.searches.plan import DEFAULT_EVALUE, DEFAULT_TARGETS, Options
from mooring_blast.searches.query import MOST_BYTES
from mooring_blast.store.client import Opened
from mooring_blast.store.errors import ObjectMissing, StoreError

_SHOWN_HITS = 100
_FORM_BYTES = 3 * MOST_BYTES + 4096  # percent-encoding makes three characters of one
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_STATIC = {"page.css": "text/css", "page.js": "text/javascript"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pages:
    """The routes."""

    def __init__(self, desk: Desk, entropy: Entropy) -> None:
        self._desk = desk
        self._entropy = entropy
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("mooring_blast", "page/templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def routes(self) -> list[web.RouteDef]:
        """All of them."""
        return [
            web.get("/", self.front),
            web.post("/searches", self.submit),
            web.get("/searches/{search}.json", self.data),
            web.get("/searches/{search}", self.show),
            web.post("/searches/{search}/start", self.start),
            web.get("/searches/{search}/hits.tsv", self.download),
            web.get("/static/{name}", self.static),
            web.get("/healthz", self.health),
        ]

    async def front(self, _: web.Request) -> web.Response:
        """The form, and the searches that there are."""
        return await self._front_page({"query": "", "evalue": str(DEFAULT_EVALUE), "targets": str(DEFAULT_TARGETS)})

    async def submit(self, request: web.Request) -> web.StreamResponse:
        """A new search. The form has an id, so that sending it twice starts one search."""
        form = await request.post()
        given = {name: str(form.get(name, "")) for name in ("search", "query", "evalue", "targets")}
        try:
            plan = await self._desk.submit(given["search"], given["query"], _options(given))
        except InvalidInput as error:
            if _wants_json(request):
                raise
            return await self._front_page(given, error=str(error), status=400)
        raise web.HTTPSeeOther(f"/searches/{plan.id}")

    async def start(self, request: web.Request) -> web.StreamResponse:
        """Start a search that is written down and was not submitted."""
        plan = await self._desk.plan(request.match_info["search"])
        await self._desk.start(plan)
        raise web.HTTPSeeOther(f"/searches/{plan.id}")

    async def show(self, request: web.Request) -> web.Response:
        """One search: its progress, or its hits."""
        look = await self._desk.look(request.match_info["search"])
        rows = await self._first_hits(look)
        part = "part" in request.query
        name = "search_part.html" if part else "search.html"
        return self._page(name, look=look, columns=COLUMNS, rows=rows, shown=_SHOWN_HITS, states=State)

    async def data(self, request: web.Request) -> web.Response:
        """The same as JSON."""
        look = await self._desk.look(request.match_info["search"])
        found: dict[str, object] = {"id": look.plan.id, "state": look.state, "message": look.message}
        found |= {"done": look.done, "total": look.total, "hits": look.summary.hits if look.summary else None}
        found |= {"generation": look.plan.generation, "searchSpace": look.plan.search_space}
        return web.json_response(found)

    async def download(self, request: web.Request) -> web.StreamResponse:
        """All hits, as a table."""
        search = request.match_info["search"]
        async with self._desk.hits(search) as opened:
            headers = {**_HEADERS, "Content-Type": "text/tab-separated-values; charset=utf-8"}
            answer = web.StreamResponse(headers=headers)
            answer.headers["Content-Disposition"] = f'attachment; filename="{search}.tsv"'
            await answer.prepare(request)
            async for chunk in opened.chunks:
                await answer.write(chunk)
            await answer.write_eof()
            return answer

    async def static(self, request: web.Request) -> web.Response:
        """Style and script."""
        name = request.match_info["name"]
        if name not in _STATIC:
            raise web.HTTPNotFound
        text = resources.files("mooring_blast").joinpath("page", "static", name).read_text()
        return web.Response(text=text, content_type=_STATIC[name])

    async def health(self, _: web.Request) -> web.Response:
        """The process answers."""
        return web.Response(text="ok\n")

    async def _front_page(self, given: dict[str, str], error: str = "", status: int = 200) -> web.Response:
        try:
            recent, trouble = await self._desk.recent(), ""
        except StoreError as failed:
            recent, trouble = [], str(failed)
        given = {**given, "search": given.get("search") or self._entropy.token(10)}
        return self._page("front.html", status, given=given, error=error, recent=recent, trouble=trouble)

    async def _first_hits(self, look: Look) -> list[list[str]]:
        if look.state is not State.DONE:
            return []
        async with self._desk.hits(look.plan.id) as opened:
            lines = await _first_lines(opened, _SHOWN_HITS + 1)
        return [line.split("\t") for line in lines[1:]]

    def _page(self, name: str, status: int = 200, **values: object) -> web.Response:
        text = self._templates.get_template(name).render(**values)
        return web.Response(text=text, content_type="text/html", status=status)

    def failure(self, request: web.Request, status: int, message: str) -> web.Response:
        """A page that says what went wrong, or JSON for a program that asks for it."""
        if _wants_json(request):
            return web.json_response({"message": message}, status=status)
        return self._page("failure.html", status, code=status, message=message)


def build_page(desk: Desk, entropy: Entropy) -> web.Application:
    """The application."""
    pages = Pages(desk, entropy)

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        answer = await _guarded(pages, request, handler)
        if not answer.prepared:
            answer.headers.update(_HEADERS)
        return answer

    application = web.Application(middlewares=[guard], client_max_size=_FORM_BYTES)
    application.add_routes(pages.routes())
    return application


async def _guarded(pages: Pages, request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every error is a page; only pages of this site may send forms."""
    if _has_foreign_name(request):
        return pages.failure(request, 403, f"{request.host} is not a name of this page. Use its address.")
    if request.method == "POST" and not _same_site(request):
        return pages.failure(request, 403, "This form was sent by another site.")
    try:
        return await handler(request)
    except web.HTTPRedirection as redirection:
        return web.Response(status=redirection.status, headers={"Location": redirection.headers["Location"]})
    except web.HTTPException as error:
        return pages.failure(request, error.status, error.reason)
    except ObjectMissing:
        return pages.failure(request, 404, "There is no such search.")
    except InvalidInput as error:
        return pages.failure(request, 400, str(error))
    except RemoteError as error:
        return pages.failure(request, error.status if error.status in (403, 409, 429) else 503, str(error))
    except MooringError as error:
        return pages.failure(request, 503, str(error))


def _wants_json(request: web.Request) -> bool:
    return request.headers.get("Accept", "") == "application/json"


def _has_foreign_name(request: web.Request) -> bool:
    """On loopback only names of this machine are served: any site may let its own name lead here (DNS rebinding)."""
    address: str = request.get_extra_info("sockname")[0]
    return is_loopback(address) and not is_loopback(request.url.host or "")


def _same_site(request: web.Request) -> bool:
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.host


def _options(given: dict[str, str]) -> Options:
    try:
        return Options(float(given["evalue"] or DEFAULT_EVALUE), int(given["targets"] or DEFAULT_TARGETS))
    except ValueError as error:
        raise InvalidInput("evalue and targets", f"{given['evalue']}, {given['targets']}", "numbers") from error


async def _first_lines(opened: Opened, count: int) -> list[str]:
    text = b""
    async for chunk in opened.chunks:
        text += chunk
        if text.count(b"\n") >= count:
            break
    return text.decode(errors="replace").splitlines()[:count]

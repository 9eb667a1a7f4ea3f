"""Log in with a token of any kind, and log out. The browser keeps a random id; the token itself is not kept."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler
from msgspec import Meta

from mooring.api.access.acts import LOGIN
from mooring.api.access.control import AccessControl
from mooring.api.access.login_throttle import TooManyLogins
from mooring.api.access.origin import refuse_foreign_origin
from mooring.api.access.sessions import COOKIE, LIFE
from mooring.api.limits import address_of
from mooring.dashboard.responses import PageResponse
from mooring.dashboard.views import Selection
from mooring.model.errors import Unauthorized

MOST_FORM_BYTES = 16 * 1024  # a form of 1 MB costs a second of the event loop, and here anybody may send one


class LoginForm(msgspec.Struct):
    """The login form."""

    token: str = ""
    next: Annotated[str, Meta(max_length=2000)] = ""


def own_path(text: str) -> str:
    """A path of this server to go on to; `/` for anything that may lead elsewhere."""
    safe = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    return text if safe and not text.startswith("/login") else "/"


@get("/login", access=LOGIN, include_in_schema=False, sync_to_thread=False)
def login_page(target: Annotated[str, QueryParameter(name="next")] = "") -> Response[str]:
    """The form."""
    return _form(target)


@post("/login", access=LOGIN, include_in_schema=False, request_max_body_size=MOST_FORM_BYTES)
async def login(
    request: Request[Any, Any, Any],
    access: AccessControl,
    data: Annotated[LoginForm, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Make a session for whom the token stands for. Wrong tokens slow their address down."""
    refuse_foreign_origin(request)
    address = address_of(request.scope)
    try:
        access.throttle.check(address)
        session_id = await access.authentication.log_in(data.token.strip())
    except TooManyLogins as slow:
        response = _form(data.next, status=429, problem=f"{slow.message}; {slow.fix}")
        response.headers["Retry-After"] = str(slow.retry_after_seconds)
        return response
    except Unauthorized:
        access.throttle.fail(address)
        return _form(data.next, status=401, problem="That is not a valid token.")
    access.throttle.succeed(address)
    redirect: Response[Any] = Redirect(own_path(data.next), status_code=303)
    redirect.set_cookie(
        COOKIE,
        session_id,
        max_age=int(LIFE.total_seconds()),
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.scope["scheme"] == "https",
    )
    return redirect


@post("/logout", access=LOGIN, include_in_schema=False)
async def logout(request: Request[Any, Any, Any], access: AccessControl) -> Response[Any]:
    """End the session, also for other browsers that have its id."""
    refuse_foreign_origin(request)
    await access.authentication.sessions.end(request.cookies.get(COOKIE, ""))
    redirect: Response[Any] = Redirect("/login", status_code=303)
    redirect.delete_cookie(COOKIE, path="/")
    return redirect


def _form(target: str, *, status: int = 200, problem: str = "") -> Response[str]:
    values = {"problem": problem, "target": own_path(target), "selection": Selection(), "here": "login"}
    return PageResponse("login.html", status, values)


LOGIN_PAGES: list[ControllerRouterHandler] = [login_page, login, logout]

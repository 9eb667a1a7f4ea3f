"""The content of the pages of services and of API documents."""

from collections.abc import Sequence
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from mooring.dashboard.views import Fragments, May, Selection, render
from mooring.model.openapi import ApiDocument
from mooring.queries.services import DocumentUnavailable, ServiceQueries, ServiceReading

PHASES = ("Serving", "Starting", "Failed", "Absent", "Unknown")


class ServicesPage(msgspec.Struct, frozen=True):
    """The services that match, and the total."""

    services: Sequence[ServiceReading]
    total: int


class DocsPage(msgspec.Struct, frozen=True):
    """The document of one API, or why there is none; and the services to choose from."""

    subject: str  # namespace/name; empty for Mooring itself
    source: str  # the address of the document itself
    services: Sequence[str]
    document: ApiDocument | None = None
    problem: str = ""
    fix: str = ""
    url: str = ""  # of the service
    documentation: str = ""  # URL of the documentation that the service itself names


def read_services(services: ServiceQueries, selection: Selection) -> ServicesPage:
    """By namespace and name."""
    everything = services.services()
    return ServicesPage([one for one in everything if _matches(one, selection)], len(everything))


def _matches(service: ServiceReading, selection: Selection) -> bool:
    status = service.status
    return selection.matches(f"{service.namespace}/{service.name}", status.phase, service.spec.image, status.reason)


async def services_fragments(services: ServiceQueries, selection: Selection, may: May) -> Fragments:
    """The live part of the services page."""
    page = read_services(services, selection)
    return {"services": render("_services.html", page=page, selection=selection, may=may)}


async def read_docs(services: ServiceQueries, namespace: str, name: str) -> DocsPage:
    """The document of a service; if it cannot be read, the page says why."""
    key, source = f"{namespace}/{name}", f"/docs/{quote(namespace)}/{quote(name)}/openapi.json"
    url = services.service(namespace, name).status.url
    try:
        document = await services.document(namespace, name)
    except DocumentUnavailable as error:
        return DocsPage(key, source, list_keys(services), problem=error.message, fix=error.fix)
    documentation = own_documentation(document.documentation, url)
    if not documentation:
        documentation = own_documentation(await services.documentation_path(namespace, name), url)
    return DocsPage(key, source, list_keys(services), document, url=url, documentation=documentation)


def own_documentation(named: str, url: str) -> str:
    """The URL of a service's own documentation; a relative one is read from the service's URL.

    Empty if there is none, or if it is no link for a browser: documents are untrusted, and `javascript:` is a URL too.
    """
    if not named:
        return ""
    try:
        found = urljoin(f"{url}/", named)
        parts = urlsplit(found)
    except ValueError:
        return ""
    return found if parts.scheme in ("http", "https") and parts.netloc else ""


def list_keys(services: ServiceQueries) -> list[str]:
    """The services whose documents can be chosen."""
    return [f"{one.namespace}/{one.name}" for one in services.services()]

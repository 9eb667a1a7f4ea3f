"""What the pages of services show: each service with its state, reason and fix; and API documents."""

from collections.abc import Sequence

import msgspec

from mooring.api.readmodels import DocumentUnavailable, ServiceReading, ServiceReadSide
from mooring.dashboard.views import Fragments, Selection, render
from mooring.model.openapi import ApiDocument

PHASES = ("Serving", "Starting", "Failed", "Absent", "Unknown")


class ServicesPage(msgspec.Struct, frozen=True):
    """The services that match, and how many there are."""

    services: Sequence[ServiceReading]
    total: int


class DocsPage(msgspec.Struct, frozen=True):
    """One API's document, or why there is none; and whose there are."""

    subject: str  # namespace/name; empty for Mooring itself
    source: str  # where the document itself is
    services: Sequence[str]
    document: ApiDocument | None = None
    problem: str = ""
    fix: str = ""


def read_services(services: ServiceReadSide, selection: Selection) -> ServicesPage:
    """By namespace and name."""
    everything = services.services()
    return ServicesPage([one for one in everything if _matches(one, selection)], len(everything))


def _matches(service: ServiceReading, selection: Selection) -> bool:
    text = f"{service.namespace}/{service.name} {service.spec.image} {service.status.reason}".lower()
    return selection.state in ("", service.status.phase) and selection.q.lower() in text


async def services_fragments(services: ServiceReadSide, selection: Selection) -> Fragments:
    """The live part of the services page."""
    page = read_services(services, selection)
    return {"services": render("_services.html", page=page, selection=selection)}


async def read_docs(services: ServiceReadSide, namespace: str, name: str) -> DocsPage:
    """A service's live document; one that cannot be had is a page too, which says why."""
    key, source = f"{namespace}/{name}", f"/v1/services/{namespace}/{name}/document"
    try:
        document = await services.document(namespace, name)
    except DocumentUnavailable as error:
        return DocsPage(key, source, list_keys(services), problem=error.message, fix=error.fix)
    return DocsPage(key, source, list_keys(services), document)


def list_keys(services: ServiceReadSide) -> list[str]:
    """The services whose documents can be chosen."""
    return [f"{one.namespace}/{one.name}" for one in services.services()]

"""The pages that explain: the doctor's lines, and one pod. They look when opened; nothing of them is live."""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.readmodels import Check, CheckStatus, Checkup, Doctor, Explainer
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.views import Selection
from mooring.model.errors import NotFound

VERDICTS_SHOWN = 200


class DoctorPage(msgspec.Struct, frozen=True):
    """The lines that match, of all that were looked at."""

    checkup: Checkup
    checks: Sequence[Check]


async def read_doctor(doctor: Doctor, selection: Selection) -> DoctorPage:
    """What fails comes first."""
    checkup = await doctor.examine()
    words = selection.q.lower()
    matching = [
        check
        for check in checkup.checks
        if selection.state in ("", check.status) and words in f"{check.id} {check.message} {check.fix}".lower()
    ]
    return DoctorPage(checkup, matching)


@get("/doctor", include_in_schema=False)
async def doctor_page(doctor: Doctor, selection: Selection) -> Response[str]:
    """Everything an operator would check."""
    page = await read_doctor(doctor, selection)
    return page_response("doctor.html", page=page, statuses=list(CheckStatus), selection=selection, here="doctor")


@get(["/doctor.json", "/doctor.csv"], include_in_schema=False)
async def doctor_twin(doctor: Doctor, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the doctor's page."""
    return twin_response(request, Check, (await read_doctor(doctor, selection)).checks)


@get("/explain/{namespace:str}/{name:str}", include_in_schema=False)
async def explain_page(explainer: Explainer, namespace: str, name: str) -> Response[str]:
    """Why a pod runs or does not."""
    try:
        told = await explainer.explain(namespace, name)
    except NotFound as absent:
        return page_response("explain.html", status=404, told=None, missing=absent, here="doctor")
    return page_response("explain.html", told=told, most=VERDICTS_SHOWN, here="doctor")


DIAGNOSIS_PAGES: list[ControllerRouterHandler] = [doctor_page, doctor_twin, explain_page]

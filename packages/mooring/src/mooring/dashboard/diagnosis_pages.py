"""Pages of explanations: the doctor, and one pod. They are read when opened, and are not live."""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import EXPLAIN_POD, READ_INVARIANTS
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.views import Selection
from mooring.model.doctor_report import Check, CheckStatus, DoctorReport
from mooring.model.errors import NotFound
from mooring.queries.doctor import Doctor
from mooring.queries.explain import Explainer

VERDICTS_SHOWN = 200


class DoctorPage(msgspec.Struct, frozen=True):
    """The checks that match, and the total."""

    checkup: DoctorReport
    checks: Sequence[Check]


async def read_doctor(doctor: Doctor, selection: Selection) -> DoctorPage:
    """The checks, failures first."""
    checkup = await doctor.examine()
    words = selection.q.lower()
    matching = [
        check
        for check in checkup.checks
        if selection.state in ("", check.status) and words in f"{check.id} {check.message} {check.fix}".lower()
    ]
    return DoctorPage(checkup, matching)


@get("/doctor", page="doctor", access=READ_INVARIANTS, include_in_schema=False)
async def doctor_page(doctor: Doctor, selection: Selection) -> Response[str]:
    """The report of the doctor."""
    page = await read_doctor(doctor, selection)
    return page_response("doctor.html", page=page, statuses=list(CheckStatus), selection=selection, here="doctor")


@get(["/doctor.json", "/doctor.csv"], access=READ_INVARIANTS, include_in_schema=False)
async def doctor_twin(doctor: Doctor, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the doctor page."""
    return twin_response(request, Check, (await read_doctor(doctor, selection)).checks)


@get("/explain/{namespace:str}/{name:str}", page="explain", access=EXPLAIN_POD, include_in_schema=False)
async def explain_page(explainer: Explainer, namespace: str, name: str) -> Response[str]:
    """Why a pod runs or does not."""
    try:
        explanation = await explainer.explain(namespace, name)
    except NotFound as absent:
        return page_response("explain.html", status=404, explanation=None, missing=absent, here="doctor")
    return page_response("explain.html", explanation=explanation, most=VERDICTS_SHOWN, here="doctor")


DIAGNOSIS_PAGES: list[ControllerRouterHandler] = [doctor_page, doctor_twin, explain_page]

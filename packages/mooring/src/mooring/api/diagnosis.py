"""Routes of explanations: the doctor, and why one pod runs or does not."""

from litestar import get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import EXPLAIN_POD, READ_INVARIANTS
from mooring.model.doctor_report import DoctorReport
from mooring.model.explanation import Explanation
from mooring.queries.doctor import Doctor
from mooring.queries.explain import Explainer


@get("/v1/doctor", access=READ_INVARIANTS, tags=["doctor"], summary="Report of the doctor")
async def get_doctor(doctor: Doctor) -> DoctorReport:
    """All checks with ok, warn, fail or unknown, evidence and fix; failures come first."""
    return await doctor.examine()


@get(
    "/v1/explain/pods/{namespace:str}/{name:str}",
    access=EXPLAIN_POD,
    tags=["explain"],
    summary="Why a pod runs or does not",
)
async def explain_pod(explainer: Explainer, namespace: str, name: str) -> Explanation:
    """Any pod.

    The verdict of every node in the words of kube-scheduler, the smallest change, events, quota and config.
    """
    return await explainer.explain(namespace, name)


DIAGNOSIS_ROUTES: list[ControllerRouterHandler] = [get_doctor, explain_pod]

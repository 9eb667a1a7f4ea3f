"""The routes that explain: how everything is, and why one pod runs or does not."""

from litestar import get
from litestar.types import ControllerRouterHandler

from mooring.api.readmodels import Checkup, Doctor, Explainer, Explanation


@get("/v1/doctor", tags=["doctor"], summary="Everything an operator would check")
async def get_doctor(doctor: Doctor) -> Checkup:
    """Each line ok, warn, fail or unknown, with evidence and fix; what fails comes first."""
    return await doctor.examine()


@get("/v1/explain/pods/{namespace:str}/{name:str}", tags=["explain"], summary="Why a pod runs or does not")
async def explain_pod(explainer: Explainer, namespace: str, name: str) -> Explanation:
    """Any pod: every node's verdict in the scheduler's words, the smallest change, events, quota, image and config."""
    return await explainer.explain(namespace, name)


DIAGNOSIS_ROUTES: list[ControllerRouterHandler] = [get_doctor, explain_pod]

"""Reading a service's pods: by the service's own container, whatever was injected beside it."""

from typing import Any

import msgspec

from hawser.views import Deployment, Pod
from mooring.controllers.services.translation import own_status, pod_from_view, rollout_from_view

CRASHING = {
    "name": "main",
    "restartCount": 4,
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
    "lastState": {"terminated": {"exitCode": 3, "reason": "Error"}},
}
PROXY = {"name": "istio-proxy", "restartCount": 0, "state": {"running": {"startedAt": "2026-03-01T12:00:00Z"}}}


def pod(*statuses: dict[str, Any]) -> Pod:
    return msgspec.convert({"metadata": {"name": "p"}, "status": {"containerStatuses": list(statuses)}}, Pod)


def test_an_injected_sidecar_that_comes_first_is_not_taken_for_the_service():
    found = pod_from_view(pod(PROXY, CRASHING))
    assert (found.waiting, found.restarts, found.exit_code, found.running_since) == ("CrashLoopBackOff", 4, 3, None)
    status = own_status(pod(PROXY, CRASHING))
    assert status is not None and status.name == "main"


def test_a_sidecar_alone_says_nothing_about_the_service():
    found = pod_from_view(pod(PROXY))
    assert (found.waiting, found.restarts, found.running_since) == ("", 0, None)


def test_the_image_is_that_of_the_service():
    containers = [{"name": "istio-proxy", "image": "proxy:1"}, {"name": "main", "image": "api:1"}]
    body = {"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": containers}}}}
    assert rollout_from_view(msgspec.convert(body, Deployment)).image == "api:1"

"""Acting as another user, whom the API server names in its records."""

from hawser.impersonation import Impersonation
from hawser.transport import Request
from packages.hawser.tests.answers import FakeApi, whole


async def test_each_request_names_the_user_and_the_group_and_keeps_its_own_headers() -> None:
    inner = FakeApi(lambda _: whole({}))
    request = Request("GET", "/api/v1/pods", (), {"accept": "application/json"})
    await Impersonation(inner, "system:serviceaccount:mooring:mooring", "operators").send(request)
    assert inner.last.headers == {
        "accept": "application/json",
        "impersonate-user": "system:serviceaccount:mooring:mooring",
        "impersonate-group": "operators",
    }
    assert request.headers == {"accept": "application/json"}

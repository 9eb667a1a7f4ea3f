"""The link to a service's own documentation: what an untrusted document names is a link only if it is a web page."""

import pytest

from mooring.dashboard.service_views import own_documentation

URL = "http://search.blast.svc:8080"


@pytest.mark.parametrize(
    ("named", "link"),
    [
        ("https://docs.example/search", "https://docs.example/search"),
        ("/docs", f"{URL}/docs"),
        ("guide", f"{URL}/guide"),
        ("", ""),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("http://[broken", ""),
        ("file:///etc/passwd", ""),
    ],
)
def test_only_a_web_page_is_linked(named: str, link: str):
    assert own_documentation(named, URL) == link

"""Label selectors as text: read as an API server reads them, and never without a required label."""

import pytest

from mooring.model.errors import InvalidInput
from mooring.model.selector import parse_selector

LABELS = {"app": "setup", "db": "core_nt", "example.com/tier": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("app=setup", True),
        ("  app == setup ,db=core_nt ", True),
        ("app=setup,db=nr", False),
        ("app in (setup,finalizer)", True),
        ("app in ( blast , setup )", True),
        ("app in (blast)", False),
        ("app,db!=nr", True),
        ("app,db notin (core_nt)", False),
        ("app,!other", True),
        ("app,!db", False),
        ("example.com/tier=", True),
        ("other", False),
        ("app,other!=x", True),
    ],
)
def test_a_selector_matches_as_the_api_server_does(text, matches):
    assert parse_selector("spec.adopt.selector", text).matches(LABELS) is matches


WRONG = ["", "   ", ",", "!app", "app!=x", "app notin (x)", "app=a,", "app=a,,b=c", "app in (a", "app=a b=c", "=x"]


@pytest.mark.parametrize("text", [*WRONG, "app=a;rm", "app=a\nx", f"app={'x' * 64}", f"app in ({'x,' * 600})"])
def test_a_selector_that_is_wrong_or_selects_everything_is_refused_by_field(text):
    with pytest.raises(InvalidInput, match=r"spec\.adopt\.selector"):
        parse_selector("spec.adopt.selector", text)

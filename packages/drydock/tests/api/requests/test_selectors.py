import pytest

from drydock.api.answers.status import Refusal
from drydock.api.requests.selectors import parse_fields, parse_labels
from hawser.fitting.selectors import compile_selector
from packages.drydock.tests.api.caller import PODS, caller

LABELS = {"app": "web", "tier": "front", "version": "3", "odd": "1_0"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("missing!=x", True),
        ("app in (web, db)", True),
        ("app in (db)", False),
        ("app notin (db,cache)", True),
        ("missing notin (x)", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("version>2", True),
        ("version<3", False),
        ("tier>2", False),
        ("odd>2", False),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("app=", False),
        ("example.com/app", False),
        ("app in (web),!missing,tier", True),
    ],
)
def test_a_label_selector_chooses(selector: str, matches: bool) -> None:
    assert parse_labels(selector)(LABELS) is matches


@pytest.mark.parametrize("selector", ["a=(", "a in", "a in (b", "=b", "a b", "a~b", "a=b=c", "a>x", "a=b c", "-a"])
def test_a_label_selector_that_makes_no_sense_is_refused(selector: str) -> None:
    with pytest.raises(Refusal, match="unable to parse requirement") as refused:
        parse_labels(selector)
    assert refused.value.code == 400


def test_an_empty_set_value_matches_the_empty_label() -> None:
    assert parse_labels("a in (,b)")({"a": ""})
    assert parse_labels("a=")({"a": ""})


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_a_selector_in_an_object_chooses(selector: dict[str, object], matches: bool) -> None:
    assert compile_selector(selector)(LABELS) is matches


def test_no_selector_in_an_object_is_not_the_empty_one() -> None:
    assert compile_selector(None)(LABELS) is False


def test_a_field_selector_splits_at_commas_that_are_not_escaped() -> None:
    terms = parse_fields(r"a=b\,c,d!=e,f==g")
    assert [(term.path, term.equal, term.value) for term in terms] == [
        ("a", True, "b,c"),
        ("d", False, "e"),
        ("f", True, "g"),
    ]
    with pytest.raises(Refusal, match="invalid selector"):
        parse_fields("nonsense")


async def test_pods_are_selected_by_node_and_phase() -> None:
    call = caller()
    await call.pod("here", node="n1")
    await call.pod("there", node="n2")
    await call.pod("nowhere")
    assert (await call.get(f"{PODS}?fieldSelector=spec.nodeName=n1")).names == ["here"]
    assert (await call.get(f"{PODS}?fieldSelector=spec.nodeName!=n1,spec.nodeName!=")).names == ["there"]
    assert (await call.get(f"{PODS}?fieldSelector=metadata.name=there")).names == ["there"]


async def test_a_field_that_cannot_be_selected_by_is_named() -> None:
    call = caller()
    answer = await call.get(f"{PODS}?fieldSelector=spec.colour=red")
    assert (answer.status, answer.message) == (400, "field label not supported: spec.colour")
    answer = await call.get("/api/v1/configmaps?fieldSelector=data=x")
    assert answer.message == '"data" is not a known field selector: only "metadata.name", "metadata.namespace"'

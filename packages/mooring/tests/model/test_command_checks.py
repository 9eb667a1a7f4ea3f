"""What may become part of a command line, and what is refused with a word about it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.command_checks import FORBIDDEN_IN_OPTIONS, check_arguments, check_option, escape_references
from mooring.model.errors import InvalidInput
from mooring.model.submission import SubmissionSpec, job_name, name_for, read_spec, spec_hash, steps_of
from mooring.model.submission_checks import check_submission

TABULAR = "7 std staxids ssciname"


def spec(**changes: object) -> SubmissionSpec:
    plain = {"key": "night-1", "program": "blastn", "batches": [{"args": ["q"]}]}
    return msgspec.convert({**plain, **changes}, SubmissionSpec)


@pytest.mark.parametrize("character", [*FORBIDDEN_IN_OPTIONS, "\n", "\r", "\0", "\x1b", "\x7f"])
@pytest.mark.parametrize(
    "form",
    [
        lambda value: {"options": {"-outfmt": value}},
        lambda value: {"options": {"-outfmt": ["7", value]}},
        lambda value: {"args": ["-outfmt", value]},
        lambda value: {"args": [f"--outfmt={value}"]},
        lambda value: {"batches": [{"args": ["-outfmt", value]}]},
    ],
    ids=["option", "token", "argument", "with equals sign", "of a batch"],
)
def test_what_broke_generated_text_once_is_refused_in_every_option_value(character: str, form):
    (problem,) = check_submission(spec(**form(f"7{character}std")))
    assert "must be" in problem.fix and repr(f"7{character}std")[1:-1] in problem.message


@pytest.mark.parametrize("value", [TABULAR, TABULAR.split(), [7, "std"], 7])
def test_several_tokens_are_accepted_as_one_text_or_as_a_list(value):
    assert check_submission(spec(options={"-outfmt": value})) == []
    assert check_submission(spec(args=["-outfmt", TABULAR])) == []


def test_a_token_is_not_empty_and_has_no_spaces():
    assert len(list(check_option("options", "-outfmt", ("7", "", "a b")))) == 2


@pytest.mark.parametrize(
    "args",
    [
        ["$(HOME)", "it's", 'a "quote"', "a;b&c|d", "{x}", "back\\slash", "two\nlines"],
        ["-c", "import os; print('hi')"],
        ["--", "-outfmt", "7;8"],
        ["-n", "-5", "--flag", "--other"],
    ],
)
def test_plain_arguments_and_programs_may_hold_anything_that_a_process_can_take(args: list[str]):
    assert list(check_arguments("args", args)) == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"key": "two words"}, "spec.key"),
        ({"key": ""}, "spec.key"),
        ({"program": "blastn; rm"}, "spec.program"),
        ({"args": ["a\0b"]}, "spec.args[0]"),
        ({"args": ["x" * 70_000]}, "spec.args[0]"),
        ({"env": [{"name": "1X", "value": "1"}]}, "spec.env[0].name"),
        ({"env": [{"name": "MOORING_STEP", "value": "1"}]}, "spec.env[0].name"),
        ({"env": [{"name": "X", "value": "a\0"}]}, "spec.env[0].value"),
        ({"env": [{"name": "X", "valueFrom": {"shell": "ls"}}]}, "spec.env[0].valueFrom"),
        ({"batches": []}, "spec.batches"),
        ({"batches": [{"name": "A B"}]}, "spec.batches[0].name"),
        ({"batches": [{"name": "x"}, {"name": "x"}]}, "spec.batches[1].name"),
        ({"batches": [{"name": "setup"}]}, "spec.batches[0].name"),
        ({"retry": {"attempts": 0}}, "spec.retry.attempts"),
        ({"options": {"outfmt": "7"}}, "spec.options"),
        ({"inheritEnv": {"deployment": "api"}}, "spec.inheritEnv.prefixes"),
        ({"requires": {"configMaps": ["No Name"]}}, "spec.requires.configMaps[0]"),
        ({"login": {"command": []}}, "spec.login.command"),
        ({"scripts": {"../x": "y"}}, "spec.scripts"),
        ({"placement": {"nodePool": "a", "nodeSelector": {"b": "c"}}}, "spec.placement"),
    ],
)
def test_a_wrong_field_is_named_with_its_value_and_the_allowed_form(changes: dict[str, object], field: str):
    problems = check_submission(spec(**changes))
    assert [problem.field for problem in problems] == [field]
    assert problems[0].message and problems[0].fix


def test_a_field_that_nobody_knows_is_a_mistake():
    with pytest.raises(InvalidInput, match=r"spec\.batches\[0\]"):
        read_spec({"key": "k", "program": "p", "batches": [{"argss": []}]})


@given(st.text())
def test_escaped_references_come_out_as_they_went_in(text: str):
    escaped = escape_references(text)
    assert escaped.replace("$$", "$") == text
    assert "$(" not in escaped.replace("$$", "")


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=253), st.text())
def test_names_fit_a_job_and_follow_from_the_key_alone(key: str, other: str):
    name = job_name(key, "x" * 30)
    assert len(name) <= 63 and name.startswith(name_for(key)) and name[0].isalnum()
    assert (name_for(key) == name_for(other)) == (key == other)


def test_batches_without_a_name_are_numbered_and_the_hash_follows_the_meaning():
    order = spec(setup={}, batches=[{}, {"name": "b"}], finalizer={})
    assert [step.name for step in steps_of(order)] == ["setup", "batch-0", "b", "finalizer"]
    assert spec_hash(order) == spec_hash(spec(setup={}, batches=[{}, {"name": "b"}], finalizer={}))
    assert spec_hash(order) != spec_hash(spec(setup={}, batches=[{}, {"name": "c"}], finalizer={}))

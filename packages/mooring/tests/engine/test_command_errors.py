"""Answers of the API server to commands, as errors for their callers."""

import pytest

from hawser import errors
from mooring.engine.command_errors import explain_refusal
from mooring.model.errors import Conflict, InvalidInput, MooringError, NotFound, Unavailable

INVALID = errors.Status(
    code=422,
    message="too many",
    details=errors.StatusDetails(causes=[errors.StatusCause(field="spec.max", message="too many")]),
)


def answer(kind: type[errors.ApiError]) -> errors.ApiError:
    return kind(INVALID)


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (answer(errors.ObjectNotFound), NotFound, "there is no pool ns/p"),
        (answer(errors.ObjectInvalid), InvalidInput, "refuses spec.max: too many"),
        (answer(errors.BadRequest), InvalidInput, "refuses spec.max: too many"),
        (answer(errors.AlreadyExists), Conflict, "the pool ns/p has changed since it was read"),
        (answer(errors.ObjectChanged), Conflict, "the pool ns/p has changed since it was read"),
        (answer(errors.TooManyRequests), Unavailable, "the cluster did not answer"),
        (answer(errors.ServerFailed), Unavailable, "the cluster did not answer"),
        (answer(errors.NotPermitted), Conflict, "the API server refuses it"),
    ],
)
def test_each_answer_says_what_it_means_for_the_object(error: errors.KubeError, expected: type, message: str):
    explained = explain_refusal(error, "pool", "ns", "p")
    assert isinstance(explained, expected) and message in explained.message


def test_only_the_namespace_of_a_new_object_can_be_missing():
    explained = explain_refusal(answer(errors.ObjectNotFound), "pool", "ns", "p", creates=True)
    assert explained.message == "there is no namespace ns"


def test_what_is_not_about_the_object_stays_as_it_is():
    error: MooringError = errors.CredentialsFailed("the token file is empty")
    assert isinstance(error, errors.KubeError) and explain_refusal(error, "pool", "ns", "p") is error

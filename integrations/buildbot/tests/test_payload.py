"""What a claim carries to the pod."""

import io
import json
import sys

import pytest

from mooring.model.errors import InvalidInput
from mooring_buildbot import session
from mooring_buildbot.payload import WorkerLogin, decode_login

LOGIN = WorkerLogin("worker-1", "secret", "tcp:host=ci.example:port=9989", "instance-1")


def test_a_login_survives_its_way_as_json_and_never_shows_its_password() -> None:
    assert decode_login(json.loads(json.dumps(LOGIN.encode()))) == LOGIN
    assert "secret" not in repr(LOGIN)


@pytest.mark.parametrize("field", ["name", "password", "master", "instance"])
@pytest.mark.parametrize("value", [None, "", 7])
def test_a_field_that_is_wrong_is_named_and_a_password_is_not_shown(field: str, value: object) -> None:
    login = {**LOGIN.encode()["buildbot"], field: value}
    with pytest.raises(InvalidInput, match=f"payload.buildbot.{field}") as refused:
        decode_login({"buildbot": login})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("payload", [None, {}, {"buildbot": []}, [], "x"])
def test_a_claim_of_somebody_else_is_refused(payload: object) -> None:
    with pytest.raises(InvalidInput, match="MooringLatentWorker"):
        decode_login(payload)


def test_a_session_without_login_ends_with_a_message(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("{}"))
    assert session.main() == 1
    assert "payload.buildbot" in capsys.readouterr().err

"""Arming over HTTP: who and why are kept, and nothing is armed by mistake."""

import httpx

from packages.mooring.tests.acceptance.world import Up
from packages.mooring.tests.api.test_refusals import refusal


def test_arming_names_the_incarnation_and_is_audited(api: httpx.Client, up: Up):
    ledger = api.get("/v1/ledger").json()
    assert ledger["armed"] and ledger["cause"] == "created"
    body = {"incarnation": ledger["incarnation"], "reason": "compared with the workers"}
    assert api.post("/v1/ledger/arm", json=body).json() == ledger
    [row, *_] = api.get("/v1/audit?actor=operator&action=arm").json()["items"]
    assert (row["action"], row["kind"], row["name"]) == ("arm", "Ledger", ledger["incarnation"])
    assert row["reason"] == "compared with the workers"
    told = up.command("arm", "--reason", "to be sure")
    assert (told.code, told.out) == (0, f"ledger/{ledger['incarnation']} is armed already (created)\n")


def test_an_incarnation_that_is_not_there_and_arming_without_a_reason_are_refused(api: httpx.Client, up: Up):
    refusal(api.post("/v1/ledger/arm", json={"incarnation": "past", "reason": "r"}), 409, "conflict")
    refusal(api.post("/v1/ledger/arm", json={"incarnation": "x", "reason": ""}), 400, "invalid_input")
    assert up.command("arm").code == 2

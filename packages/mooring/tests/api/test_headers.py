"""What the answers allow a browser to do with them."""

import re

import httpx
import pytest

PAGES = ["/", "/?view=table", "/audit", "/claims", "/invariants", "/services", "/services/deploy", "/docs", "/login"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_run_nothing_but_our_own_scripts_and_styles(stranger: httpx.Client, path: str):
    headers = stranger.get(path).headers
    policy = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["img-src"] == "'self'"
    assert policy["form-action"] == "'self'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_no_inline_script_style_or_handler(stranger: httpx.Client, path: str):
    html = stranger.get(path).text
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"<style|\sstyle=", html)
    assert not re.search(r"\son\w+=|hx-on|javascript:", html)
    linked = re.sub(r'<a href="https://mooring\.dev/docs/', '<a href="/', html)  # the runbook, for those who follow it
    assert not re.search(r"(src|href)=.?(https?:)?//", linked), "nothing comes from other machines"


@pytest.mark.parametrize(
    "path", ["/", "/v1/pools", "/workers.csv", "/audit.json", "/static/mooring.js", "/nope", "/openapi.json"]
)
def test_no_answer_may_be_taken_for_another_type(api: httpx.Client, path: str):
    assert api.get(path).headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/v1/pools", "/v1/claims", "/claims.json", "/audit.csv", "/v1/claims/none"])
def test_what_may_be_secret_is_stored_by_nobody(api: httpx.Client, path: str):
    assert api.get(path).headers.get_list("cache-control") == ["no-store"]


def test_the_server_does_not_tell_what_it_is_made_of(stranger: httpx.Client):
    assert "server" not in stranger.get("/").headers


def test_long_answers_are_compressed(stranger: httpx.Client):
    assert stranger.get("/", headers={"Accept-Encoding": "gzip"}).headers["content-encoding"] == "gzip"

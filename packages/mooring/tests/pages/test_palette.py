"""The palette's order, and where a login may lead."""

import pytest

from mooring.dashboard.login import own_path
from mooring.dashboard.palette import MOST_FOUND, Found, choose


def found(*names: str) -> list[Found]:
    return [Found("worker", name, f"/workers/{name}") for name in names]


def test_names_that_begin_with_the_word_come_first():
    chosen = choose(found("runners/old-linux-1", "runners/linux-1", "a/darklinux"), "linux")
    assert [one.name for one in chosen] == ["runners/linux-1", "runners/old-linux-1", "a/darklinux"]


def test_all_words_must_match_in_kind_name_or_note():
    everything = [Found("claim", "1a2b", "/claims/1a2b", "running team-1 runners/linux"), *found("runners/linux-1")]
    assert [one.kind for one in choose(everything, "claim TEAM-1")] == ["claim"]
    assert choose(everything, "nothing") == []


def test_the_list_is_bounded():
    assert len(choose(found(*(f"n-{n}" for n in range(100))), "")) == MOST_FOUND


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/pools/a/b?tab=queue", "/pools/a/b?tab=queue"),
        ("", "/"),
        ("//evil.example", "/"),
        ("https://evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("/login?next=/", "/"),
    ],
)
def test_a_login_leads_to_a_path_of_this_server_only(asked: str, led: str):
    assert own_path(asked) == led

"""Termination messages: how much of them is kept, and when the log takes their place."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from drydock.runtime.contract import LogLine
from drydock.runtime.last_words import log_end, make_file, read_words, target_of, wants_log

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FALLBACK = {"terminationMessagePolicy": "FallbackToLogsOnError"}


def test_a_message_has_at_most_4096_bytes(tmp_path: Path) -> None:
    file = make_file(tmp_path, 0)
    file.write_bytes(b"x" * 9000)
    assert read_words(file) == "x" * 4096


def test_each_run_has_a_file_of_its_own(tmp_path: Path) -> None:
    make_file(tmp_path, 0).write_text("old")
    assert read_words(make_file(tmp_path, 1)) == ""
    assert [path.name for path in tmp_path.iterdir()] == ["last-words-1"]


@pytest.mark.parametrize(
    ("spec", "written", "code", "wanted"),
    [(FALLBACK, "", 1, True), (FALLBACK, "", 0, False), (FALLBACK, "words", 1, False), ({}, "", 1, False)],
)
def test_the_log_is_the_message_only_of_a_failure_without_one(
    spec: dict[str, str], written: str, code: int, wanted: bool
) -> None:
    assert wants_log(spec, written, code) is wanted


def test_the_end_of_a_log_has_at_most_80_lines_and_2048_bytes() -> None:
    short = [LogLine(NOW, f"{number}".encode()) for number in range(100)]
    assert log_end(short).splitlines() == [str(number) for number in range(20, 100)]
    long = [LogLine(NOW, b"y" * 200) for _ in range(80)]
    assert len(log_end(long)) == 2048


def test_the_path_is_the_default_unless_the_spec_has_one() -> None:
    assert target_of({}) == "/dev/termination-log"
    assert target_of({"terminationMessagePath": "/tmp/last"}) == "/tmp/last"

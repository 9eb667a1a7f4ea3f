"""The runtimes' parts: addresses, images, scripts, logs, probe thresholds."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from drydock.actors.kubelet.logs import log_request
from drydock.processes.logfile import LINE_LIMIT_BYTES, LogFile
from drydock.runtime.addresses import LOOPBACK, Addresses
from drydock.runtime.contract import ContainerRun, LogLine, PodPlace
from drydock.runtime.images import check_image, command_line
from drydock.runtime.logs import LogReader, LogRequest, read_lines, render, select
from drydock.runtime.probes import Threshold, port_number
from drydock.runtime.script import SCRIPT_ANNOTATION, default_script
from hawser.errors import InvalidInput

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_every_holder_has_an_address_of_its_own_and_keeps_it() -> None:
    addresses = Addresses(LOOPBACK, "here")
    given = [addresses.take(f"pod-{number}", "") for number in range(600)]
    assert len(set(given)) == 600
    assert addresses.take("pod-3", "") == given[3]
    assert not any(address.endswith((".0", ".255")) for address in given)
    assert all(address.startswith("127.64.") for address in given)


def test_a_folder_keeps_to_its_own_stretch_however_many_pods_come_and_go() -> None:
    addresses = Addresses(LOOPBACK, "busy")
    used = {_passing(addresses, f"pod-{number}") for number in range(5_000)}
    assert len(used) <= 256


def test_an_address_rests_before_somebody_else_gets_it() -> None:
    addresses = Addresses(LOOPBACK, "busy")
    left = _passing(addresses, "first")
    assert left not in [_passing(addresses, f"pod-{number}") for number in range(200)]


def test_a_stretch_grows_with_the_pods_that_live_in_it() -> None:
    addresses = Addresses(LOOPBACK, "crowded")
    assert len({addresses.take(f"pod-{number}", "") for number in range(3_000)}) == 3_000


def test_two_folders_seldom_meet() -> None:
    stretches = []
    for folder in range(200):
        addresses = Addresses(LOOPBACK, f"/home/somebody/cluster-{folder}")
        stretches.append({addresses.take(f"pod-{number}", "") for number in range(50)})
    meetings = sum(not one.isdisjoint(other) for one, other in combinations(stretches, 2))
    assert meetings / (200 * 199 / 2) < 0.005


def _passing(addresses: Addresses, pod: str) -> str:
    address = addresses.take(pod, "")
    addresses.release(pod)
    return address


def test_a_wanted_address_is_given_when_it_is_free_and_ours_to_give() -> None:
    addresses = Addresses(LOOPBACK, "here")
    assert addresses.take("a", "127.64.1.2") == "127.64.1.2"
    assert addresses.take("b", "127.64.1.2") != "127.64.1.2"
    assert addresses.take("c", "10.0.0.1") != "10.0.0.1"
    assert addresses.take("e", "127.65.1.2") != "127.65.1.2"
    addresses.release("a")
    assert addresses.take("d", "127.64.1.2") == "127.64.1.2"


@pytest.mark.parametrize(
    ("image", "command", "arguments", "line"),
    [
        ("anything", ["prog"], ["x"], ["prog", "x"]),
        ("busybox", [], ["sh", "-c", "true"], ["sh", "-c", "true"]),
        ("docker.io/library/sh:1.2@sha256:00", [], [], ["sh"]),
        ("sh", [], ["-c", "true"], ["sh", "-c", "true"]),
        ("registry.k8s.io/pause:3.10", [], [], ["sleep", "infinity"]),
        ("no/such-thing:1", [], [], []),
    ],
)
def test_what_an_image_runs(image: str, command: list[str], arguments: list[str], line: list[str]) -> None:
    assert command_line(image, command, arguments, "/usr/bin:/bin") == line


def test_only_the_registry_that_cannot_exist_fails() -> None:
    assert check_image("busybox") == ""
    assert "example.invalid" in check_image("example.invalid/app")
    assert "401" in check_image("private.example.invalid/app")
    assert check_image("private.example.invalid/app", {"private.example.invalid"}) == ""
    assert check_image("missing.example.invalid/app", {"missing.example.invalid"}).endswith("not found")
    assert "timeout" in check_image("slow.example.invalid/app")


def run_of(annotation: str = "", attempt: int = 0, policy: str = "Always") -> ContainerRun:
    pod: dict[str, Any] = {
        "metadata": {"name": "web", "annotations": {SCRIPT_ANNOTATION: annotation} if annotation else {}},
        "spec": {"restartPolicy": policy, "containers": [{"name": "app"}]},
    }
    place = PodPlace("node-1", "default", "web", "u-1")
    return ContainerRun(place, "app", attempt, "app", pod, {"name": "app"}, "127.64.0.1")


def test_scripts_come_from_the_annotation_run_by_run_and_the_last_repeats() -> None:
    text = '{"runs": [{"runSeconds": 1, "exitCode": 2}, {"runSeconds": 3}]}'
    assert [default_script(run_of(text, attempt)).run_seconds for attempt in (0, 1, 2)] == [1, 3, 3]
    assert default_script(run_of(text)).exit_code == 2


def test_without_a_script_what_runs_once_succeeds_and_the_rest_runs_for_ever() -> None:
    assert default_script(run_of(policy="Never")).run_seconds == 1
    assert default_script(run_of()).run_seconds is None


def test_a_script_nobody_can_read_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="script"):
        default_script(run_of('{"runs": [{"speed": 1}]}'))


def lines(*texts: str) -> list[LogLine]:
    return [LogLine(NOW + timedelta(seconds=index), text.encode()) for index, text in enumerate(texts)]


def test_a_log_can_be_tailed_and_begun_at_a_time() -> None:
    log = lines("a", "b", "c")
    now = NOW + timedelta(seconds=2)
    assert select(log, LogRequest(tail_lines=2), now) == log[1:]
    assert select(log, LogRequest(tail_lines=0), now) == []
    assert select(log, LogRequest(tail_lines=9), now) == log
    assert select(log, LogRequest(since_seconds=1), now) == log[1:]
    assert select(log, LogRequest(since_time=NOW + timedelta(seconds=2)), now) == log[2:]


def test_a_long_line_in_pieces_is_one_line() -> None:
    log = [LogLine(NOW, b"long ", whole=False), LogLine(NOW, b"line"), LogLine(NOW, b"next")]
    assert render(log, timestamps=False) == b"long line\nnext\n"
    assert render(log, timestamps=True).count(b"2026-03-01T12:00:00") == 2
    assert select(log, LogRequest(tail_lines=2), NOW) == log


def test_what_is_written_is_read_back_across_chunks_and_streams(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    log = LogFile(str(path), limit_bytes=1_000_000)
    log.write("stdout", b"hello\nwor")
    log.write("stderr", b"oops\n")
    log.write("stdout", b"ld\n" + b"x" * (LINE_LIMIT_BYTES + 5) + b"\nunfinished")
    log.end("stdout")
    log.close()
    expected = b"hello\noops\nworld\n" + b"x" * (LINE_LIMIT_BYTES + 5) + b"\nunfinished"
    assert render(read_lines(path, 0)[0], timestamps=False) == expected


def test_a_log_that_grows_too_large_keeps_its_end(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    log = LogFile(str(path), limit_bytes=10_000)
    for number in range(1000):
        log.write("stdout", f"line {number}\n".encode())
    log.close()
    kept = [*read_lines(tmp_path / "0.log.1", 0)[0], *read_lines(path, 0)[0]]
    assert [line.text for line in kept] == [f"line {number}".encode() for number in range(1000 - len(kept), 1000)]
    assert len(kept) > 200
    assert max(file.stat().st_size for file in tmp_path.iterdir()) <= 10_000


async def test_following_ends_when_the_container_has_and_nothing_is_missed() -> None:
    written = ["one"]
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        written.append(f"line {len(slept)}")

    reader = LogReader(
        read=lambda after: (lines(*written)[after:], len(written)), is_over=lambda: len(slept) == 3, sleep=sleep
    )

    assert (
        b"".join([chunk async for chunk in reader.stream(LogRequest(follow=True), NOW)])
        == b"one\nline 1\nline 2\nline 3\n"
    )


async def test_a_limit_in_bytes_is_kept() -> None:
    reader = LogReader(read=lambda after: (lines("hello", "world"), 2), is_over=lambda: True, sleep=asyncio.sleep)

    assert b"".join([chunk async for chunk in reader.stream(LogRequest(limit_bytes=7), NOW)]) == b"hello\nw"


def test_a_log_request_names_what_it_cannot_read() -> None:
    assert log_request({"tailLines": "3", "follow": "true"}) == LogRequest(tail_lines=3, follow=True)
    for name in ("tailLines", "limitBytes", "sinceSeconds", "sinceTime"):
        with pytest.raises(InvalidInput, match=name):
            log_request({name: "soon"})


def test_a_verdict_changes_only_after_enough_of_the_contrary_in_a_row() -> None:
    threshold = Threshold(failures_needed=3, successes_needed=2, verdict=True)
    told = [threshold.count(ok) for ok in (False, False, True, False, False, False, False, True, True, True)]
    assert told == [None, None, None, None, None, False, None, None, True, None]


def test_ports_are_found_by_number_and_by_name() -> None:
    spec = {"ports": [{"name": "http", "containerPort": 8080}]}
    assert [port_number(port, spec) for port in (80, "81", "http", "ftp")] == [80, 81, 8080, None]

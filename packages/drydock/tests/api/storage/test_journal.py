import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from drydock.api.server import ApiServer
from drydock.api.storage.journal import Journal
from drydock.api.storage.store import Store, TableKey
from hawser.clock import Entropy, SystemClock
from hawser.errors import Misconfigured
from packages.drydock.tests.api.caller import CONFIGMAPS, TOKENS, Caller

KEY = TableKey("", "configmaps")


def open_store(folder: Path, *, min_changes: int = 20_000) -> tuple[Store, Journal]:
    journal = Journal(folder, min_changes=min_changes)
    store = Store(journal)
    journal.restore(store)
    return store, journal


def write(store: Store, name: str, value: str = "") -> None:
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"k": value}}
    store.put(store.table(KEY), f"default/{name}", body)


def held(store: Store) -> dict[str, str]:
    return {key: stored.object["data"]["k"] for key, stored in store.table(KEY).objects.items()}


def test_a_store_comes_back_as_it_was_and_its_version_goes_on(tmp_path: Path) -> None:
    store, journal = open_store(tmp_path)
    write(store, "a", "1")
    write(store, "b", "1")
    write(store, "a", "2")
    store.remove(store.table(KEY), "default/b")
    journal.close()
    again, journal = open_store(tmp_path)
    assert held(again) == {"default/a": "2"}
    assert again.version == store.version
    write(again, "c")
    assert again.version == store.version + 1
    journal.close()


def test_the_version_goes_on_also_when_the_last_change_was_a_deletion_before_a_snapshot(tmp_path: Path) -> None:
    store, journal = open_store(tmp_path)
    write(store, "a")
    store.remove(store.table(KEY), "default/a")
    journal.snapshot()
    journal.close()
    again, journal = open_store(tmp_path)
    assert again.version == store.version
    journal.close()


@pytest.mark.parametrize("cut", [1, 2, 20, 60])
def test_a_torn_last_line_is_dropped_and_what_follows_is_whole(tmp_path: Path, cut: int) -> None:
    store, journal = open_store(tmp_path)
    write(store, "a")
    write(store, "b")
    journal.close()
    log = tmp_path / "changes.jsonl"
    log.write_bytes(log.read_bytes()[:-cut])
    again, journal = open_store(tmp_path)
    assert list(held(again)) == ["default/a"]
    write(again, "c")
    journal.close()
    last, journal = open_store(tmp_path)
    assert list(held(last)) == ["default/a", "default/c"]
    journal.close()


def test_a_broken_line_in_the_middle_is_not_passed_over(tmp_path: Path) -> None:
    store, journal = open_store(tmp_path)
    write(store, "a")
    write(store, "b")
    journal.close()
    log = tmp_path / "changes.jsonl"
    first, second = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first[:-10] + b"\n" + second)
    with pytest.raises(Misconfigured, match="line 1 of"):
        open_store(tmp_path)


def test_a_long_log_is_replaced_by_a_snapshot(tmp_path: Path) -> None:
    store, journal = open_store(tmp_path, min_changes=10)
    for number in range(35):
        write(store, "a", str(number))
    journal.close()
    assert len((tmp_path / "changes.jsonl").read_bytes().splitlines()) == 5
    again, journal = open_store(tmp_path)
    assert held(again) == {"default/a": "34"}
    journal.close()


def test_a_log_that_repeats_the_snapshot_is_recognised(tmp_path: Path) -> None:
    """Killed between the snapshot and the emptying of the log."""
    store, journal = open_store(tmp_path)
    write(store, "a", "1")
    write(store, "b", "1")
    store.remove(store.table(KEY), "default/b")
    log = (tmp_path / "changes.jsonl").read_bytes()
    journal.snapshot()
    journal.close()
    (tmp_path / "changes.jsonl").write_bytes(log)
    again, journal = open_store(tmp_path)
    assert held(again) == {"default/a": "1"} and again.version == store.version
    journal.close()


def test_names_with_quotes_survive(tmp_path: Path) -> None:
    store, journal = open_store(tmp_path)
    write(store, 'say "hi"\n')
    journal.close()
    again, journal = open_store(tmp_path)
    assert list(held(again)) == ['default/say "hi"\n']
    journal.close()


def test_a_folder_serves_one_process_at_a_time(tmp_path: Path) -> None:
    _, journal = open_store(tmp_path)
    with pytest.raises(Misconfigured, match="in use by another process"):
        Journal(tmp_path)
    journal.close()


def test_a_server_keeps_uids_tokens_and_custom_kinds_over_a_restart(tmp_path: Path, run: object) -> None:
    async def first_life() -> tuple[str, str]:
        call = Caller(ApiServer(SystemClock(), Entropy(), state_dir=tmp_path, tokens=TOKENS))
        uid = (await call.configmap("a")).meta["uid"]
        await call.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
        path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
        token = (await call.post(path, {"spec": {}})).body["status"]["token"]
        await call.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ROCKETS)
        await call.post("/apis/tests.dev/v1/namespaces/default/rockets", {"metadata": {"name": "r"}})
        await call.api.close()
        return uid, token

    async def second_life(uid: str, token: str) -> None:
        call = Caller(ApiServer(SystemClock(), Entropy(), state_dir=tmp_path, tokens=TOKENS))
        assert (await call.get(f"{CONFIGMAPS}/a")).meta["uid"] == uid
        assert (await call.get("/apis/tests.dev/v1/namespaces/default/rockets")).names == ["r"]
        robot = Caller(call.api, token=token)
        who = await robot.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
        assert who.body["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
        await call.api.close()

    assert callable(run)
    run(second_life(*run(first_life())))


ROCKETS = {
    "metadata": {"name": "rockets.tests.dev"},
    "spec": {
        "group": "tests.dev",
        "scope": "Namespaced",
        "names": {"plural": "rockets", "kind": "Rocket"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}

WRITER = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from hawser.clock import Entropy, SystemClock
    from drydock.api.server import ApiServer
    from packages.drydock.tests.api.caller import CONFIGMAPS, TOKENS, Caller

    async def main():
        call = Caller(ApiServer(SystemClock(), Entropy(), state_dir=Path(sys.argv[1]), tokens=TOKENS))
        number = 0
        while True:
            number += 1
            made = await call.configmap(f"c{number}", labels={"pad": "x" * 60})
            if number > 5:
                await call.delete(f"{CONFIGMAPS}/c{number - 5}")
            print(f"c{number} {made.meta['uid']} {made.meta['resourceVersion']}", flush=True)

    asyncio.run(main())
    """
)


@pytest.mark.parametrize("told_before_death", [1, 40, 111])
def test_a_killed_server_has_lost_nothing_it_answered_for(tmp_path: Path, run: object, told_before_death: int) -> None:
    root = Path(__file__).parents[5]
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline().split() for _ in range(told_before_death)]
        writer.send_signal(signal.SIGKILL)
        told += [line.split() for line in writer.stdout.read().splitlines() if len(line.split()) == 3]

    async def after() -> None:
        call = Caller(ApiServer(SystemClock(), Entropy(), state_dir=tmp_path, tokens=TOKENS))
        found = {
            item["metadata"]["name"]: item["metadata"]["uid"] for item in (await call.get(CONFIGMAPS)).body["items"]
        }
        last = len(told)
        for name, uid, _ in told[-4:]:
            assert found[name] == uid
        assert not [name for name, *_ in told[: max(0, last - 6)] if name in found], "deleted objects came back"
        made = await call.configmap("after")
        assert int(made.meta["resourceVersion"]) > int(told[-1][2])
        await call.api.close()

    assert callable(run)
    run(after())

"""Fetching a shard, in virtual time: what is interrupted goes on, what is wrong is never published, silence ends."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drydock import VirtualLoop
from hawser.clock import Entropy
from integrations.blast.tests.worlds import NAMED, ScriptedStore, generation_of, names_in, silent
from mooring_blast.databases.fetch import Fetched, Fetcher
from mooring_blast.databases.local import DiskFull, verify
from mooring_blast.databases.manifest import MANIFEST
from mooring_blast.store.errors import (
    AccessRefused,
    ObjectDamaged,
    ObjectMissing,
    StoreError,
    StoreRefused,
    StoreUnavailable,
)
from mooring_blast.store.patience import PATIENCE_SECONDS, Patience

FILES = {"db.nin": b"index" * 20, "db.nsq": bytes(range(256)) * 4, "db.nhr": b""}
SEQUENCE = NAMED.key(0, "db.nsq")


async def fetch(store: ScriptedStore, folder: Path, said: list[str] | None = None) -> Fetched:
    clock = VirtualLoop.running().clock
    report = silent if said is None else said.append
    return await Fetcher(store, NAMED, Patience(clock, Entropy(1)), report).fetch(0, folder)


def now() -> float:
    return VirtualLoop.running().clock.monotonic()


async def test_all_files_arrive_with_their_manifest_and_say_how_far_they_are(tmp_path: Path) -> None:
    said: list[str] = []
    fetched = await fetch(ScriptedStore(generation_of(FILES)), tmp_path, said)
    assert fetched.copied == sum(map(len, FILES.values()))
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES
    assert len(verify(tmp_path).files) == 3
    assert (said[0], said[-1]) == ("0 % of 1124 bytes", "100 % of 1124 bytes")


async def test_a_second_fetch_copies_nothing(tmp_path: Path) -> None:
    store = ScriptedStore(generation_of(FILES))
    await fetch(store, tmp_path)
    assert (await fetch(store, tmp_path)).copied == 0


async def test_an_answer_that_is_cut_goes_on_where_it_was(tmp_path: Path) -> None:
    cuts = iter([100, 300])
    store = ScriptedStore(generation_of(FILES), lambda key, _: next(cuts, None) if key == SEQUENCE else None)
    fetched = await fetch(store, tmp_path)
    assert [start for key, start in store.reads if key == SEQUENCE] == [0, 100, 400]
    assert fetched.copied == sum(map(len, FILES.values()))
    verify(tmp_path)


async def test_a_store_that_ignores_ranges_is_read_from_the_beginning(tmp_path: Path) -> None:
    cuts = iter([100])
    store = ScriptedStore(
        generation_of(FILES), lambda key, _: next(cuts, None) if key == SEQUENCE else None, ranges=False
    )
    await fetch(store, tmp_path)
    verify(tmp_path)


async def test_permissions_that_come_after_a_minute_are_waited_for(tmp_path: Path) -> None:
    store = ScriptedStore(generation_of(FILES), lambda key, _: AccessRefused("403") if now() < 60 else None)
    await fetch(store, tmp_path)
    assert 60 <= now() < 80


async def test_a_store_that_is_down_for_a_minute_is_waited_for(tmp_path: Path) -> None:
    def down(key: str, start: int) -> StoreError | int | None:
        return 500 if now() < 1 and start == 0 else StoreUnavailable("down") if 0 < now() < 61 else None

    store = ScriptedStore(generation_of(FILES), lambda key, start: down(key, start) if key == SEQUENCE else None)
    fetched = await fetch(store, tmp_path)
    assert fetched.copied == sum(map(len, FILES.values())), "nothing was copied twice"


@pytest.mark.parametrize("error", [StoreUnavailable("silent"), AccessRefused("403")])
async def test_a_store_that_never_answers_ends_the_fetch_and_says_for_how_long(
    tmp_path: Path, error: StoreError
) -> None:
    store = ScriptedStore(generation_of(FILES), lambda key, _: error if key == SEQUENCE else None)
    with pytest.raises(type(error), match=r"nothing has arrived for 18\d s"):
        await fetch(store, tmp_path)
    assert PATIENCE_SECONDS <= now() < PATIENCE_SECONDS + 20
    assert names_in(tmp_path) == set(), "no file is where readers look"


@pytest.mark.parametrize("error", [ObjectMissing("404"), StoreRefused("400")])
async def test_what_does_not_pass_by_itself_ends_the_fetch_at_once(tmp_path: Path, error: StoreError) -> None:
    store = ScriptedStore(generation_of(FILES), lambda key, _: error if key == SEQUENCE else None)
    with pytest.raises(type(error)):
        await fetch(store, tmp_path)
    assert now() == 0


async def test_damage_on_the_way_is_fetched_once_more(tmp_path: Path) -> None:
    objects = generation_of(FILES)
    right, wrong = objects[SEQUENCE], objects[SEQUENCE][:-1] + b"?"
    store = ScriptedStore({**objects, SEQUENCE: wrong})
    said: list[str] = []

    def heal(key: str, start: int) -> None:
        if key == SEQUENCE and len([one for one in store.reads if one[0] == SEQUENCE]) == 2:
            store.objects[SEQUENCE] = right

    store.fault = heal
    await fetch(store, tmp_path, said)
    assert "db.nsq arrived with a wrong checksum and was thrown away; it is fetched again" in said
    verify(tmp_path)


@pytest.mark.parametrize("change", [lambda content: content[:-1] + b"?", lambda content: content + b"?"])
async def test_a_corrupt_object_is_named_and_never_published(tmp_path: Path, change) -> None:
    objects = generation_of(FILES)
    store = ScriptedStore({**objects, SEQUENCE: change(objects[SEQUENCE])})
    with pytest.raises(ObjectDamaged, match=r"databases/synthetic-nt/g1/00/db\.nsq: .*twice .*upload it again"):
        await fetch(store, tmp_path)
    assert names_in(tmp_path) == set()


@pytest.mark.parametrize("key", [NAMED.catalogue_key, NAMED.key(0)])
async def test_a_damaged_catalogue_or_manifest_is_refused(tmp_path: Path, key: str) -> None:
    objects = generation_of(FILES)
    with pytest.raises(ObjectDamaged, match=r"catalogue|manifest"):
        await fetch(ScriptedStore({**objects, key: objects[key].replace(b"g1", b"g2")}), tmp_path)


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", "a/b", "", ".hidden", "a\nb"])
async def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ObjectDamaged, match="not the name of a file"):
        await fetch(ScriptedStore(generation_of({name: b"x"})), tmp_path / "shard")
    assert list(tmp_path.iterdir()) == []


async def test_a_shard_that_does_not_fit_is_refused_before_a_byte_is_read(tmp_path: Path) -> None:
    objects = generation_of(FILES)
    huge = {**objects}
    manifest = objects[NAMED.key(0)].replace(b'"size": 1024', b'"size": 1' + b"0" * 18)
    from mooring_blast.databases.manifest import Catalogue, digest, encode

    huge[NAMED.key(0)] = manifest
    huge[NAMED.catalogue_key] = encode(Catalogue(NAMED.dataset, NAMED.generation, (digest(manifest),), 1, 1))
    store = ScriptedStore(huge)
    with pytest.raises(DiskFull, match="bytes are missing, and the disk has"):
        await fetch(store, tmp_path)
    assert SEQUENCE not in {key for key, _ in store.reads}


async def test_a_disk_that_fills_up_on_the_way_is_named(tmp_path: Path) -> None:
    def fill(key: str, start: int) -> None:
        if key == SEQUENCE:
            (tmp_path / ".parts" / "db.nsq").symlink_to("/dev/full")

    with pytest.raises(DiskFull, match=r"db\.nsq: the disk is full; what has arrived stays \(fix: make room"):
        await fetch(ScriptedStore(generation_of(FILES), fill), tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(0, 1100), max_size=6), kept=st.integers(0, 1100), ranges=st.booleans())
async def test_any_interruption_ends_in_the_right_content(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], kept: int, ranges: bool
) -> None:
    folder = tmp_path_factory.mktemp("shard")
    (folder / ".parts").mkdir()
    (folder / ".parts" / "db.nsq").write_bytes(FILES["db.nsq"][:kept] + b"!" * max(0, kept - 1024))
    ends = iter(cuts)
    store = ScriptedStore(generation_of(FILES), lambda key, _: next(ends, None) if key == SEQUENCE else None)
    store.ranges = ranges
    await fetch(store, folder)
    verify(folder)
    assert names_in(folder) == {*FILES, MANIFEST}

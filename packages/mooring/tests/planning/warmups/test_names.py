"""Names of Jobs: readable, unique, short enough, for whatever a dataset is called."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.planning.warmups.jobs import data_key, dataset_label, job_name

DATASETS = st.text(min_size=1, max_size=253)


@pytest.mark.parametrize(("dataset", "shard", "name"), [("nt", 3, "warm-nt-03"), ("nt", 123, "warm-nt-123")])
def test_a_plain_name_is_taken_as_it_is(dataset, shard, name):
    assert job_name(dataset, shard) == name


def test_a_name_that_must_change_stays_readable_and_apart_from_its_likes():
    names = [job_name(dataset, 0) for dataset in ("core_nt", "core-nt", "core.nt", "CORE_NT", "core nt")]
    assert len(set(names)) == 5
    assert all(name.startswith("warm-core-nt") for name in names)


@given(DATASETS, st.integers(0, 9999))
def test_every_name_is_one_that_kubernetes_takes(dataset, shard):
    name = job_name(dataset, shard)
    assert len(name) <= 63 and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)
    for value in (dataset_label(dataset), data_key(dataset, "a-round")):
        assert len(value) <= 63 and re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", value)


@given(DATASETS, DATASETS, st.integers(0, 999), st.integers(0, 999))
def test_two_shards_never_share_a_name(one, other, shard, number):
    same = (one, shard) == (other, number)
    assert (job_name(one, shard) == job_name(other, number)) is same
    assert (dataset_label(one) == dataset_label(other)) is (one == other)

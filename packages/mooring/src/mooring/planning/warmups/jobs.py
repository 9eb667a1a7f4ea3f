"""Names and hashes of warm Jobs: the same order for the same shard gives the same name and hash."""

import functools
import hashlib
import re

import msgspec

from mooring.model.pod_template import PodTemplate
from mooring.model.warmup import DEFAULT_FOLDER, WarmupSpec

FETCH, VERIFY, WARM = "fetch", "verify", "warm"  # the containers in their order
_LONGEST_STEM = 52  # of 63 characters: "warm-", a dash, and up to five digits are added
_LONGEST_CLEANUP_STEM = 46  # of 63 characters: "unwarm-", a dash and a digest are added
_LONGEST_LABEL = 63
_STEM = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DIGEST = re.compile(r"-[0-9a-f]{8}$")


@functools.lru_cache(maxsize=65_536)
def job_name(dataset: str, shard: int) -> str:
    """`warm-<dataset>-<NN>`; two datasets never share a name."""
    return f"warm-{_unique(dataset, _STEM, _LONGEST_STEM, dataset.lower())}-{shard:02}"


@functools.lru_cache(maxsize=4_096)
def dataset_label(dataset: str) -> str:
    """The dataset as a label value."""
    return _unique(dataset, _LABEL, _LONGEST_LABEL, dataset)


def data_path(spec: WarmupSpec) -> str:
    """The dataset's folder on a node."""
    return spec.local_path.rstrip("/") or f"{DEFAULT_FOLDER}/{dataset_label(spec.dataset)}"


def cleanup_name(dataset: str, *of: str) -> str:
    """The Job that removes one folder: of a Warmup, on a node, at a path. The same folder gives the same name."""
    return f"unwarm-{_unique(dataset, _STEM, _LONGEST_CLEANUP_STEM, dataset.lower())}-{_digest(' '.join(of))}"


def data_key(generation: str, round_id: str) -> str:
    """The folder of one generation of the data: a new generation never overwrites the one in use."""
    stem = _unique(generation, _LABEL, 40, generation)
    return f"{stem}-{_digest(round_id)}" if round_id else stem


def order_hash(spec: WarmupSpec) -> str:
    """Changes when existing Jobs no longer match the spec. Retry settings are not part of it."""
    parts = (
        spec.dataset,
        spec.shards,
        spec.mode,
        spec.image,
        spec.command,
        spec.args,
        spec.env,
        spec.service_account,
        spec.local_path,
        spec.verify,
    )
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]


def template_hash(spec: WarmupSpec) -> str:
    """Changes when pods get another shape. The data does not depend on it, so it is no part of the order."""
    if spec.pod_template == PodTemplate():
        return ""
    return hashlib.sha256(msgspec.json.encode(spec.pod_template, order="sorted")).hexdigest()[:16]


def access_hash(spec: WarmupSpec) -> str:
    """Changes when the fetch may have got other permissions."""
    return hashlib.sha256(msgspec.json.encode((spec.env, spec.account), order="sorted")).hexdigest()[:16]


def _unique(name: str, allowed: re.Pattern[str], longest: int, folded: str) -> str:
    """The name itself if it is valid.

    Otherwise, or if it looks like a digested name, its readable part and a digest.
    """
    if len(name) <= longest and allowed.fullmatch(name) and not _DIGEST.search(name):
        return name
    readable = re.sub(r"[^A-Za-z0-9]+", "-", folded)[: longest - 9].strip("-")
    return f"{readable}-{_digest(name)}" if readable else f"x-{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]

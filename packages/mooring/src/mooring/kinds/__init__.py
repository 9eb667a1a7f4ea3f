"""Mooring's kinds as the API server has them: CRDs, views, resources, and the manifests of an installation.

Must not know: what is decided or done for a kind.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C takes an eighth of the time
_FILES = ("workerpool.yaml", "warmup.yaml", "submission.yaml", "managedservice.yaml")


def load_crds() -> list[dict[str, Any]]:
    """All definitions, in objects that the caller may change."""
    return msgspec.json.decode(_encoded(), type=list[dict[str, Any]])


@cache
def _encoded() -> bytes:
    """The definitions as JSON, which is parsed faster than YAML: a process needs them several times."""
    return msgspec.json.encode([yaml.load((files(__name__) / name).read_text(), _LOADER) for name in _FILES])

"""The CustomResourceDefinitions of `mooring.dev/v1alpha1`, as YAML files."""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

_FILES = ("workerpool.yaml", "warmup.yaml", "submission.yaml", "managedservice.yaml")


def load_crds() -> list[dict[str, Any]]:
    """All four definitions, in objects that the caller may change."""
    return msgspec.json.decode(_encoded(), type=list[dict[str, Any]])


@cache
def _encoded() -> bytes:
    """The definitions as JSON: parsing the YAML takes a fifth of a second, and a process needs them several times."""
    return msgspec.json.encode([yaml.safe_load((files(__name__) / name).read_text()) for name in _FILES])

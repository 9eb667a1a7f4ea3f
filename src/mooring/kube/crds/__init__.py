"""The CustomResourceDefinitions of `mooring.dev/v1alpha1`, as the YAML that is installed."""

from importlib.resources import files
from typing import Any

import yaml

_FILES = ("workerpool.yaml", "warmup.yaml", "submission.yaml", "managedservice.yaml")


def load_crds() -> list[dict[str, Any]]:
    """All four, ready to apply."""
    return [yaml.safe_load((files(__name__) / name).read_text()) for name in _FILES]

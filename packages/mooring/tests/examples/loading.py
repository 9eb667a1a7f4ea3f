"""Examples are folders of scripts: their modules are taken in here, without leaving their short names behind."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def load_example(example: str, *names: str) -> tuple[ModuleType, ...]:
    """Modules of one example, by name."""
    folder = EXAMPLES / example
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        return tuple(import_module(name) for name in names)
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            origin = getattr(sys.modules[name], "__file__", None)
            if origin and Path(origin).parent == folder:
                del sys.modules[name]

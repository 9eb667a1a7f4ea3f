"""The placement of Mooring's own pods, as options of `mooring install`."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mooring.model.errors import InvalidInput
from mooring.model.placement import Placement
from mooring.model.pod_template import LABEL_KEY, LABEL_VALUE

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_AFFINITIES = {"nodeAffinity", "podAffinity", "podAntiAffinity"}


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    """The options as they were typed."""

    node_pool: str = ""
    node_selector: list[str] = field(default_factory=list)
    tolerations: list[str] = field(default_factory=list)
    affinity: str = ""

    @property
    def placement(self) -> Placement:
        """Node pool, selector and tolerations. Raises `InvalidInput`."""
        if self.node_pool and self.node_selector:
            raise InvalidInput("--node-selector", self.node_selector[0], "without --node-pool: give one of the two")
        return Placement(
            node_pool=self.node_pool,
            node_selector=dict(map(_label, self.node_selector)),
            tolerations=list(map(parse_toleration, self.tolerations)),
        )


def parse_toleration(text: str) -> dict[str, Any]:
    """A toleration from KEY[=VALUE][:EFFECT]. Without a value any value, without an effect all effects."""
    rest, colon, effect = text.partition(":")
    key, equals, value = rest.partition("=")
    if not (LABEL_KEY.fullmatch(key) and LABEL_VALUE.fullmatch(value)) or (colon and effect not in EFFECTS):
        raise InvalidInput("--toleration", text, f"KEY[=VALUE][:EFFECT], with an effect of {', '.join(EFFECTS)}")
    toleration: dict[str, Any] = {"key": key, "operator": "Equal" if equals else "Exists"}
    if equals:
        toleration["value"] = value
    if effect:
        toleration["effect"] = effect
    return toleration


def read_affinity(text: str) -> dict[str, Any]:
    """The affinity of a pod from YAML or JSON, or from the file named after an @; empty without text."""
    if not text:
        return {}
    try:
        found = yaml.safe_load(Path(text[1:]).read_text() if text.startswith("@") else text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidInput("--affinity", text, f"YAML, JSON or @FILE ({str(error).splitlines()[0]})") from error
    if not isinstance(found, dict) or not set(found) <= _AFFINITIES:
        raise InvalidInput("--affinity", text, f"a mapping with {', '.join(sorted(_AFFINITIES))}")
    return found


def describe_options(placement: Placement, affinity: str = "") -> str:
    """The options that give this placement, ready for a shell."""
    options = ["--node-pool", placement.node_pool] if placement.node_pool else []
    for key, value in placement.node_selector.items():
        options += ["--node-selector", f"{key}={value}"]
    for toleration in placement.tolerations:
        options += ["--toleration", _describe(toleration)]
    if affinity:
        options += ["--affinity", affinity]
    return shlex.join(options)


def name_advice(options: str) -> str:
    """The options in a sentence, also if there are none."""
    return options or "no option for the placement"


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not (LABEL_KEY.fullmatch(key) and LABEL_VALUE.fullmatch(value)):
        raise InvalidInput("--node-selector", text, "KEY=VALUE")
    return key, value


def _describe(toleration: dict[str, Any]) -> str:
    value = f"={toleration['value']}" if toleration["operator"] == "Equal" else ""
    effect = f":{toleration['effect']}" if toleration.get("effect") else ""
    return f"{toleration['key']}{value}{effect}"

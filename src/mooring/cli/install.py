"""`mooring install`: prints what a cluster needs to run Mooring, for `kubectl apply -f -`."""

import sys
from typing import Any

import yaml

from mooring.cli.manifests import manifests


class _Plain(yaml.SafeDumper):
    """YAML without anchors: readers should not have to follow them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(bodies: list[dict[str, Any]]) -> str:
    """Objects as YAML documents."""
    return yaml.dump_all(bodies, Dumper=_Plain, sort_keys=False, width=1000)


def print_manifests(image: str, namespace: str) -> None:
    """YAML documents to stdout; what to do before applying them to stderr."""
    print(dump(manifests(image, namespace)), end="")
    print(
        f"first: kubectl -n {namespace} create secret generic mooring"
        " --from-literal=database=postgresql://... --from-literal=token=$(openssl rand -hex 24)",
        file=sys.stderr,
    )

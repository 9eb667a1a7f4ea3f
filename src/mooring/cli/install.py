"""`mooring install`: prints what a cluster needs to run Mooring, for `kubectl apply -f -`."""

import sys

import yaml

from mooring.cli.manifests import manifests


def print_manifests(image: str, namespace: str) -> None:
    """YAML documents to stdout; what to do before applying them to stderr."""
    print(yaml.safe_dump_all(manifests(image, namespace), sort_keys=False), end="")
    print(
        f"first: kubectl -n {namespace} create secret generic mooring"
        " --from-literal=database=postgresql://... --from-literal=token=$(openssl rand -hex 24)",
        file=sys.stderr,
    )

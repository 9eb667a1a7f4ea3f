"""`python -m mooring.sandbox.kubernetes`: build the control plane's programs, once."""

import sys

from mooring.sandbox.kubernetes.binaries import BinariesMissing, build_binaries


def main() -> int:
    """Say what is there, or what went wrong."""
    try:
        binaries = build_binaries(lambda line: print(line, file=sys.stderr))
    except BinariesMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    for path in (binaries.apiserver, binaries.controller_manager, binaries.scheduler, binaries.etcd):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

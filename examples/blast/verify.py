"""Proves a shard: every checksum is right, and BLAST itself finds the database sound."""

import os
import subprocess
import sys
from pathlib import Path

from dataset import DATABASE

from mooring.demo.shards import DatasetDamaged, verify


def main() -> int:
    """0 when the shard in MOORING_SHARD_PATH is what it should be."""
    folder = Path(os.environ["MOORING_SHARD_PATH"])
    try:
        print(f"{verify(folder)} checksums are right", flush=True)
    except DatasetDamaged as error:
        print(error, flush=True)
        return 1
    environment = {**os.environ, "BLASTDB": str(folder)}
    return subprocess.run(["blastdbcheck", "-db", str(folder / DATABASE)], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

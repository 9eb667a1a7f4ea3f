"""Claims in a steady rhythm until a file exists. Runs in a pod: python3 - POOL CLAIMS_PER_SECOND STOP_FILE.

Prints one JSON object: how many claims were asked for, their ids, the seconds that each took, and what went wrong.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from mooring.client import AsyncMooring

SESSION_SECONDS = 0.2


async def claim_once(mooring: AsyncMooring, pool: str, told: dict[str, Any]) -> None:
    began = time.monotonic()
    try:
        async with mooring.claim(pool, ttl="1m", wait="30s") as claim:
            told["seconds"].append(round(time.monotonic() - began, 3))
            told["claims"].append(claim.id)
            await asyncio.sleep(SESSION_SECONDS)
    except Exception as error:  # noqa: BLE001 - every kind of failure is what the test asks for
        told["failures"].append(f"after {time.monotonic() - began:.1f} s: {error!r}")


async def main(pool: str, rate: float, stop: Path) -> None:
    told: dict[str, Any] = {"asked": 0, "claims": [], "seconds": [], "failures": []}
    async with AsyncMooring() as mooring, asyncio.TaskGroup() as group:
        began = time.monotonic()
        while not stop.exists():
            group.create_task(claim_once(mooring, pool, told))
            told["asked"] += 1
            await asyncio.sleep(max(0.0, began + told["asked"] / rate - time.monotonic()))
    print(json.dumps(told))


asyncio.run(main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])))

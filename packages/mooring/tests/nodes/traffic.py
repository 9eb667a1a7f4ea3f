"""Claims in a steady rhythm until a file exists. Runs in a pod: python3 - POOL CLAIMS_PER_SECOND STOP_FILE.

Prints one JSON object: how many claims were asked for, their ids, the seconds that each took, and what went wrong.
"""

import asyncio
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

from mooring.client import AsyncMooring

SESSION_SECONDS = 0.2
MOST_AT_ONCE = 12  # fewer than workers: on a slow machine claims come less often, and none has to queue


async def claim_once(mooring: AsyncMooring, pool: str, told: dict[str, Any]) -> None:
    began = time.monotonic()
    told["asked"] += 1
    told["at_once"] += 1
    try:
        async with mooring.claim(pool, ttl="1m", wait="60s") as claim:
            told["seconds"].append(round(time.monotonic() - began, 3))
            told["claims"].append(claim.id)
            await asyncio.sleep(SESSION_SECONDS)
    except Exception as error:  # noqa: BLE001 - every kind of failure is what the test asks for
        told["failures"].append(f"after {time.monotonic() - began:.1f} s: {error!r}")
    finally:
        told["at_once"] -= 1


async def main(pool: str, rate: float, stop: Path) -> None:
    told: dict[str, Any] = {"asked": 0, "at_once": 0, "claims": [], "seconds": [], "failures": []}
    began = time.monotonic()
    async with AsyncMooring() as mooring, asyncio.TaskGroup() as group:
        for beat in itertools.count(1):
            if stop.exists():
                break
            if told["at_once"] < MOST_AT_ONCE:
                group.create_task(claim_once(mooring, pool, told))
            await asyncio.sleep(max(0.0, began + beat / rate - time.monotonic()))
        told["rate"] = round(told["asked"] / (time.monotonic() - began), 1)
    print(json.dumps(told))


asyncio.run(main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])))

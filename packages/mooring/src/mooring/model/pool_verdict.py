"""The verdict on a pool: whether it works, is on its way, or is broken, and the cause in one sentence."""

from typing import Literal

import msgspec

VerdictState = Literal["ok", "waiting", "broken", "unknown"]


class PoolVerdict(msgspec.Struct, frozen=True):
    """`broken` needs a person; `waiting` is expected to pass. `worker` is the one to look at first, if any."""

    state: VerdictState
    label: str
    cause: str = ""
    worker: str = ""
